"""The scheduler's ticks: calls of its own ``step``; a scheduler inside another one is not counted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from . import optimizer

if TYPE_CHECKING:
    from .watch import Watch


def innermost(scheduler: Any) -> Any:
    """The scheduler inside of a wrapper such as Accelerate's, which may tick several times a call."""
    while hasattr(scheduler, "scheduler"):
        scheduler = scheduler.scheduler
    return scheduler


def install(watch: "Watch") -> None:
    """Observes ticks and the rate that each sets."""
    if watch.scheduler is None:
        _ask_for_one(watch)
        return

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not watch.is_suspended:
            watch.recorder.scheduler_step(optimizer.learning_rate(watch.optimizer))
        return result

    watch.patches.method(watch.scheduler, "step", around)


def _ask_for_one(watch: "Watch") -> None:
    """Warns where ticks are declared and will not be seen, unless the loop records them itself."""
    contract = watch.recorder.contract
    if contract.get("scheduler") and "scheduler_step" not in contract.get("unobserved", ()):
        warnings.warn(
            "the contract declares a scheduler and none is attached: say attach(..., scheduler=scheduler), or "
            "contract_for(..., scheduler=None) where there is none, or call scheduler_step() after each tick",
            # The line that called Recorder.attach.
            stacklevel=5,
        )
