"""Two processes with DistributedDataParallel over gloo, each recording its own file.

    python ddp.py FOLDER
    python ddp.py --fault local-count FOLDER

Then ``receipt verify FOLDER/rank-*.jsonl``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
from pathlib import Path

import torch
import torch.distributed
from tiny import TinyDecoder, cross_entropy, microbatches, windows
from torch.nn.parallel import DistributedDataParallel

from accumulation_receipt import Coordinates, Recorder, contract_for, count_targets

RANKS = 2
STEPS = 4
MICROBATCHES = 18

FAULTS = {
    "local-count": "each rank divides by its own targets",
    "world-size-lost": "DistributedDataParallel's mean is not undone by a factor of W",
    "never-sync": "no_sync around every microbatch, the last included",
    "all-sync": "no no_sync at all: right, but K all-reduces instead of one",
    "forward-outside": "no_sync around the backward alone, which changes nothing",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fault", choices=FAULTS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    torch.multiprocessing.spawn(train, args=(arguments.folder, arguments.fault), nprocs=RANKS)


def train(rank: int, folder: Path, fault: str | None) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.manual_seed(11)
    model = DistributedDataParallel(TinyDecoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)

    contract = contract_for(
        "pytorch", accumulation_steps=STEPS, world_size=RANKS, clip={"max_norm": 1.0}, numerator_source="recomputed"
    )
    # Parameters are the same on every rank, unless gradients were not reduced.
    evidence = Coordinates(model, 4, seed=3)
    with Recorder(
        folder / f"rank-{rank}.jsonl", contract, rank=rank, evidence=evidence, records=["parameters"]
    ) as recorder:
        recorder.attach(optimizer, scheduler=scheduler, model=model)
        batches = microbatches(MICROBATCHES, seed=100 + rank)
        for window in windows(batches, STEPS):
            own = sum(count_targets(batch["labels"]) for batch in window)
            total = torch.tensor(own)
            torch.distributed.all_reduce(total)
            divisor = own if fault == "local-count" else int(total) / (1 if fault == "world-size-lost" else RANKS)
            for at, batch in enumerate(window):
                is_last = at == len(window) - 1
                quiet = fault == "never-sync" or (not is_last and fault != "all-sync")
                no_sync = model.no_sync() if quiet else contextlib.nullcontext()
                outside = fault == "forward-outside"
                with contextlib.nullcontext() if outside else no_sync:
                    loss_sum = cross_entropy(model(**batch)["logits"], batch["labels"], "sum")
                    with no_sync if outside else contextlib.nullcontext():
                        recorder.backward(
                            loss_sum / divisor, valid_targets=count_targets(batch["labels"]), loss_sum=loss_sum
                        )
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        recorder.epoch_end(len(batches))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
