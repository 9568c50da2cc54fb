"""Accelerate: loops around ``accelerator.backward``, with or without ``accelerator.accumulate``.

``AcceleratedOptimizer`` and ``AcceleratedScheduler`` pass on only the calls that count, so the PyTorch objects inside
are what is observed. ``accelerator.backward`` divides by ``gradient_accumulation_steps``; the recorded ``backward_loss``
is the divided one, on which backward really ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ..recorder import Recorder


def attach(
    recorder: "Recorder",
    accelerator: Any,
    model: Any,
    optimizer: Any,
    scheduler: Optional[Any] = None,
    *,
    forward: bool = True,
    **options: Any,
) -> None:
    """Observes a loop whose objects went through ``accelerator.prepare``.

    Args:
        recorder: takes the events.
        accelerator: knows the scaler.
        model: as prepared; wrapped in DistributedDataParallel it tells when it syncs.
        optimizer: as prepared.
        scheduler: as prepared.
        forward: describe each microbatch from the model's forward, which must be given ``labels``; False where the
            loop calls ``recorder.microbatch`` itself.
        options: as for :class:`~accumulation_receipt.forward.Forward`.
    """
    recorder.attach(optimizer, scheduler, accelerator.scaler, model)
    if forward:
        recorder.describe_forwards(accelerator.unwrap_model(model), **options)
