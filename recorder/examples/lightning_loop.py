"""Lightning's automatic optimisation with ``accumulate_grad_batches``, unmodified; and manual optimisation.

    python lightning_loop.py manifest.jsonl
    python lightning_loop.py --corrected right.jsonl
    python lightning_loop.py --manual right.jsonl
"""

from __future__ import annotations

import argparse
import logging
import math

import lightning
import torch
from tiny import TinyDecoder, collate, cross_entropy, sequences
from torch.utils.data import DataLoader

from accumulation_receipt import Recorder, contract_for, count_targets

STEPS = 4
SEQUENCES = 36


class Task(lightning.LightningModule):
    """Returns the mean loss of a microbatch; or, corrected, what gives each target of the window the same weight."""

    def __init__(self, core: TinyDecoder, targets_of_windows: list[int] | None) -> None:
        super().__init__()
        self.core = core
        self._targets_of_windows = targets_of_windows

    def training_step(self, batch, index):
        logits = self.core(**batch)["logits"]
        if self._targets_of_windows is None:
            return cross_entropy(logits, batch["labels"], "mean")
        return cross_entropy(logits, batch["labels"], "sum") * STEPS / self._targets_of_windows[index // STEPS]

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-2, weight_decay=0.01)
        return [optimizer], [torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)]


class ManualTask(Task):
    """The same with manual optimisation: the loop's own step, clipping, zeroing and scheduler."""

    def __init__(self, core: TinyDecoder, targets_of_windows: list[int]) -> None:
        super().__init__(core, targets_of_windows)
        self.automatic_optimization = False

    def training_step(self, batch, index):
        self.manual_backward(super().training_step(batch, index) / STEPS)
        if (index + 1) % STEPS == 0 or self.trainer.is_last_batch:
            optimizer = self.optimizers()
            self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
            optimizer.step()
            optimizer.zero_grad()
            self.lr_schedulers().step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--corrected", action="store_true")
    parser.add_argument("--manual", action="store_true", help="manual optimisation, corrected")
    parser.add_argument("--numerator", default="recomputed", choices=["scaled-loss", "recomputed"])
    arguments = parser.parse_args()
    if (arguments.corrected or arguments.manual) and arguments.numerator == "scaled-loss":
        parser.error("the corrected loss is divided by its window's count, which a batch does not tell")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    torch.manual_seed(11)
    data = sequences(SEQUENCES, seed=4242)
    loader = DataLoader(data, batch_size=2, shuffle=False, collate_fn=collate)
    counts = [count_targets(batch["labels"]) for batch in loader]
    windows = [sum(counts[at * STEPS : (at + 1) * STEPS]) for at in range(math.ceil(len(counts) / STEPS))]
    if arguments.manual:
        task = ManualTask(TinyDecoder(), windows)
    else:
        task = Task(TinyDecoder(), windows if arguments.corrected else None)

    contract = contract_for(
        "lightning", accumulation_steps=STEPS, clip={"max_norm": 1.0}, numerator_source=arguments.numerator
    )
    if arguments.manual:
        contract["scheduler"] = {"name": "recorded"}  # It ticks with each update here.
    recorder = Recorder(arguments.manifest, contract)
    if arguments.numerator == "recomputed":
        callback = recorder.lightning_callback(module=task.core)
    else:
        callback = recorder.lightning_callback(divisor_of=lambda batch: count_targets(batch["labels"]))
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        devices=1,
        accumulate_grad_batches=1 if arguments.manual else STEPS,
        gradient_clip_val=None if arguments.manual else 1.0,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(task, loader)
    recorder.close()


if __name__ == "__main__":
    main()
