"""The scheduler's ticks: calls of its own ``step``; a scheduler inside another one is not counted."""

from __future__ import annotations

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
        return

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not watch.is_suspended:
            watch.recorder.scheduler_step(optimizer.learning_rate(watch.optimizer))
        return result

    watch.patches.method(watch.scheduler, "step", around)
