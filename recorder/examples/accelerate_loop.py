"""Accelerate's loop as its documentation prints it, and corrected for windows of unequal counts.

    python accelerate_loop.py naive.jsonl
    python accelerate_loop.py --corrected right.jsonl
    torchrun --nproc-per-node 2 accelerate_loop.py --corrected 'rank-{rank}.jsonl'
"""

from __future__ import annotations

import argparse
import contextlib

import torch
from accelerate import Accelerator
from tiny import TinyDecoder, collate, cross_entropy, sequences
from torch.utils.data import DataLoader

from accumulation_receipt import Recorder, contract_for, count_targets

STEPS = 4
SEQUENCES = 36


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--corrected", action="store_true")
    parser.add_argument("--one-tick", action="store_true", help="declare one tick an update, whatever the world size")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(11)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=STEPS)
    model = TinyDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)
    data = sequences(SEQUENCES * accelerator.num_processes, seed=4242)
    loader = DataLoader(data, batch_size=2, shuffle=False, collate_fn=collate)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    contract = contract_for(
        "accelerate",
        accumulation_steps=STEPS,
        world_size=accelerator.num_processes,
        clip={"max_norm": 1.0},
        numerator_source="recomputed",
    )
    if arguments.one_tick:
        contract["scheduler"] = {"name": "recorded"}
    rank = accelerator.process_index
    with Recorder(arguments.manifest.format(rank=rank), contract, rank=rank) as recorder:
        recorder.attach_accelerator(accelerator, model, optimizer, scheduler)
        (corrected if arguments.corrected else naive)(accelerator, model, optimizer, scheduler, loader)
        recorder.epoch_end(len(loader))
    accelerator.end_training()


def naive(accelerator, model, optimizer, scheduler, loader) -> None:
    """The mean loss of each microbatch; ``accelerator.backward`` divides it by K, in the short window too."""
    for batch in loader:
        with accelerator.accumulate(model):
            logits = model(**batch)["logits"]
            accelerator.backward(cross_entropy(logits, batch["labels"], "mean"))
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


def corrected(accelerator, model, optimizer, scheduler, loader) -> None:
    """The summed loss over the window's targets of all ranks; K and W undo what Accelerate and PyTorch divide by."""
    batches = list(loader)
    for begin in range(0, len(batches), STEPS):
        window = batches[begin : begin + STEPS]
        own = torch.tensor(sum(count_targets(batch["labels"]) for batch in window))
        targets = accelerator.gather(own).sum()
        for at, batch in enumerate(window):
            quiet = accelerator.num_processes > 1 and at < len(window) - 1
            with model.no_sync() if quiet else contextlib.nullcontext():
                loss_sum = cross_entropy(model(**batch)["logits"], batch["labels"], "sum")
                accelerator.backward(loss_sum * STEPS * accelerator.num_processes / targets)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
