"""What the recorder costs: windows of a model of some 10 million parameters, with the recorder and without, in turn.

    python overhead.py

Prints the ratio of the two medians, the share of a window that the recorder itself took (its calls, hooks and file,
timed from inside), and the bytes of the manifest for each microbatch. Both kinds of window run the same loop; order
within each pair alternates, so that a machine that slows down slows both.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

from accumulation_receipt import Recorder, contract_for, count_targets

STEPS = 4
ROWS, LENGTH, VOCABULARY, WIDTH = 4, 64, 8192, 384


class Decoder(nn.Module):
    """A causal decoder of 10 million parameters: four layers, tied head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 6, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        hidden = self.layers(self.embed(input_ids), mask=self.mask, is_causal=True)
        return hidden @ self.embed.weight.T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, help="fail where the recorder alone takes more percent of a window")
    parser.add_argument("--bytes", type=int, help="fail where a microbatch takes as many bytes")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    model = Decoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 1000)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    batches = [torch.randint(0, VOCABULARY, (ROWS, LENGTH)) for _ in range(STEPS)]

    def window(recorder: Recorder | None) -> float:
        begin = time.perf_counter()
        targets = sum(count_targets(batch) for batch in batches)
        for batch in batches:
            logits = model(batch)[:, :-1].reshape(-1, VOCABULARY)
            loss_sum = nn.functional.cross_entropy(logits, batch[:, 1:].reshape(-1), reduction="sum")
            if recorder is None:
                (loss_sum / targets).backward()
            else:
                recorder.backward(loss_sum / targets, valid_targets=count_targets(batch), loss_sum=loss_sum)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return time.perf_counter() - begin

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "manifest.jsonl"
        recorder = Recorder(path, contract_for("pytorch", accumulation_steps=STEPS, clip={"max_norm": 1.0}))

        def recorded_window() -> float:
            # Attaching is done once a run; only what each window costs is timed.
            recorder.attach(optimizer, scheduler=scheduler, model=model)
            seconds = window(recorder)
            recorder.detach()
            return seconds

        window(None), recorded_window()
        without, recorded = [], []
        for pair in range(arguments.pairs):
            order = [(without, lambda: window(None)), (recorded, recorded_window)]
            for times, run in order if pair % 2 == 0 else reversed(order):
                times.append(run())
        recorder.close()
        microbatches = STEPS * (arguments.pairs + 1)
        size = path.stat().st_size
    own = own_cost()
    off, on = statistics.median(without), statistics.median(recorded)
    print(f"parameters               {parameters:,}")
    print(f"window without recorder  {off * 1e3:.1f} ms (median of {len(without)}, {min(without) * 1e3:.1f} at best)")
    print(f"window with recorder     {on * 1e3:.1f} ms (median of {len(recorded)}, {min(recorded) * 1e3:.1f} at best)")
    print(f"ratio of medians         {on / off:.4f}")
    print(f"ratio of best            {min(recorded) / min(without):.4f}")
    print(f"recorder alone           {own * 1e3:.3f} ms a window, {100 * own / off:.3f} % of it")
    print(f"bytes a microbatch       {size / microbatches:.0f}, header and all other events included")
    if arguments.limit is not None and 100 * own / off >= arguments.limit:
        raise SystemExit(f"the recorder takes {arguments.limit} % of a window or more")
    if arguments.bytes is not None and size / microbatches >= arguments.bytes:
        raise SystemExit(f"a microbatch takes {arguments.bytes} bytes or more")


def own_cost() -> float:
    """Seconds that a window's calls, hooks and write take, in loops over a model of one number."""
    parameter = nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 1000)
    labels = torch.randint(0, VOCABULARY, (ROWS, LENGTH))

    def window(recorder: Recorder | None) -> float:
        begin = time.perf_counter()
        for _ in range(STEPS):
            loss = (parameter * 2).sum()
            if recorder is None:
                loss.backward()
            else:
                recorder.backward(loss, valid_targets=count_targets(labels), loss_sum=loss)
        torch.nn.utils.clip_grad_norm_([parameter], 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return time.perf_counter() - begin

    with tempfile.TemporaryDirectory() as folder:
        contract = contract_for("pytorch", accumulation_steps=STEPS, clip={"max_norm": 1.0})
        with Recorder(Path(folder) / "manifest.jsonl", contract) as recorder:
            without = statistics.median(window(None) for _ in range(200))
            recorder.attach(optimizer, scheduler=scheduler)
            return statistics.median(window(recorder) for _ in range(200)) - without


if __name__ == "__main__":
    main()
