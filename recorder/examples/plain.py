"""A plain PyTorch loop that records itself, and the same loop with one deliberate fault.

    python plain.py correct.jsonl
    python plain.py --fault mean-of-means wrong.jsonl
"""

from __future__ import annotations

import argparse
import os
import signal

import torch
from tiny import TinyDecoder, cross_entropy, microbatches, windows

from accumulation_receipt import Coordinates, Recorder, contract_for, count_targets

STEPS = 4
MICROBATCHES = 18  # Windows of 4, 4, 4, 4 and a short one of 2.

FAULTS = {
    "mean-of-means": "each microbatch's mean loss, divided by how many there are",
    "tail-divided-by-k": "as mean-of-means, but the short window is divided by K too",
    "zero-inside": "the gradients are cleared after the second microbatch of each window",
    "scheduler-per-microbatch": "the scheduler ticks after every microbatch",
    "clip-per-microbatch": "clipping after every backward instead of once a window",
    "step-per-microbatch": "the optimizer steps after every backward",
    "zero-forgotten": "the gradients are never cleared",
    "killed": "the process is killed in the middle of window 3; `receipt verify --partial` reads what is left",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--evidence", type=int, default=0, help="record vectors of so many coordinates")
    arguments = parser.parse_args()
    train(arguments.manifest, arguments.fault, arguments.evidence)


def train(manifest: str, fault: str | None, coordinates: int) -> None:
    torch.manual_seed(11)
    model = TinyDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)

    contract = contract_for("pytorch", accumulation_steps=STEPS, clip={"max_norm": 1.0}, numerator_source="recomputed")
    evidence = Coordinates(model, coordinates, seed=3) if coordinates else None
    records = ("accumulated", "parameters", "gradient", "gradient_sum")
    with Recorder(manifest, contract, evidence=evidence, records=records) as recorder:
        recorder.attach(optimizer, scheduler=scheduler, model=model)
        batches = microbatches(MICROBATCHES, seed=4242)
        for index, window in enumerate(windows(batches, STEPS)):
            targets = sum(count_targets(batch["labels"]) for batch in window)
            for at, batch in enumerate(window):
                logits = model(**batch)["logits"]
                loss_sum = cross_entropy(logits, batch["labels"], "sum")
                if fault in ("mean-of-means", "tail-divided-by-k"):
                    share = STEPS if fault == "tail-divided-by-k" else len(window)
                    loss = cross_entropy(logits, batch["labels"], "mean") / share
                else:
                    loss = loss_sum / targets

                recorder.backward(loss, valid_targets=count_targets(batch["labels"]), loss_sum=loss_sum)

                if fault == "killed" and (index, at) == (3, 1):
                    os.kill(os.getpid(), signal.SIGKILL)
                if fault == "clip-per-microbatch":
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if fault == "scheduler-per-microbatch":
                    scheduler.step()
                if fault == "zero-inside" and at == 1:
                    optimizer.zero_grad()
                if fault == "step-per-microbatch":
                    optimizer.step()
                    optimizer.zero_grad()
            if fault == "step-per-microbatch":
                scheduler.step()
                continue
            if fault != "clip-per-microbatch":
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if fault != "scheduler-per-microbatch":
                scheduler.step()
            if fault != "zero-forgotten":
                optimizer.zero_grad()
        recorder.epoch_end(len(batches))


if __name__ == "__main__":
    main()
