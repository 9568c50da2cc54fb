"""A loop with ``torch.amp.GradScaler`` on the CPU. One microbatch of window 2 overflows, so that its update is skipped.

    python amp.py correct.jsonl
    python amp.py --fault unscale-early wrong.jsonl
"""

from __future__ import annotations

import argparse

import torch
from tiny import TinyDecoder, cross_entropy, microbatches, windows

from accumulation_receipt import Recorder, contract_for, count_targets

STEPS = 4
MICROBATCHES = 18
OVERFLOWS = (2, 1)

FAULTS = {
    "unscale-early": "unscale_ after the first microbatch; what comes after is added still scaled",
    "clip-scaled": "clipping before unscale_, by a norm that is S times too large",
    "scheduler-on-skip": "the scheduler ticks although the update was skipped",
    "not-scaled": "the last microbatch's loss is not scaled",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("manifest")
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--fused", action="store_true", help="the fused optimizer, which unscales and skips by itself")
    arguments = parser.parse_args()
    train(arguments.manifest, arguments.fault, arguments.fused)


def train(manifest: str, fault: str | None, fused: bool) -> None:
    torch.manual_seed(11)
    model = TinyDecoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01, fused=fused)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 20)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)

    # The parameters are binary32; a contract for binary16 would bring GradScaler's defaults.
    scale = {
        "policy": "dynamic",
        "initial": 1024.0,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 3,
    }
    clip = None if fused else {"max_norm": 1.0}
    contract = contract_for(
        "pytorch", accumulation_steps=STEPS, clip=clip, loss_scale=scale, numerator_source="recomputed"
    )
    with Recorder(manifest, contract) as recorder:
        recorder.attach(optimizer, scheduler=scheduler, scaler=scaler, model=model)
        batches = microbatches(MICROBATCHES, seed=4242)
        for index, window in enumerate(windows(batches, STEPS)):
            with recorder.window():
                targets = sum(count_targets(batch["labels"]) for batch in window)
                for at, batch in enumerate(window):
                    loss_sum = cross_entropy(model(**batch)["logits"], batch["labels"], "sum")
                    loss = loss_sum / targets
                    if (index, at) == OVERFLOWS:
                        loss = loss * float("inf")
                    if fault == "not-scaled" and at == len(window) - 1:
                        recorder.microbatch(valid_targets=count_targets(batch["labels"]), loss_sum=loss_sum)
                        loss.backward()
                    else:
                        # Scales the loss with the attached scaler.
                        recorder.backward(loss, valid_targets=count_targets(batch["labels"]), loss_sum=loss_sum)
                    if fault == "unscale-early" and at == 0:
                        scaler.unscale_(optimizer)
                if fault == "clip-scaled":
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if fault != "unscale-early" and not fused:
                    scaler.unscale_(optimizer)
                if fault != "clip-scaled" and not fused:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                before = scaler.get_scale()
                scaler.update()
                was_skipped = scaler.get_scale() < before
                if not was_skipped or fault == "scheduler-on-skip":
                    scheduler.step()
                optimizer.zero_grad()
        recorder.epoch_end(len(batches))


if __name__ == "__main__":
    main()
