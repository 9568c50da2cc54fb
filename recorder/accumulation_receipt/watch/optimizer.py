"""The optimizer's step, by its own post hook: it runs only if the step did, and after a closure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..refusal import RecorderError
from . import clip, scaler

if TYPE_CHECKING:
    from .watch import Watch


def innermost(optimizer: Any) -> Any:
    """The ``torch.optim.Optimizer`` inside of wrappers such as Accelerate's and Lightning's."""
    while hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    if not hasattr(optimizer, "register_step_post_hook"):
        raise RecorderError(f"{type(optimizer).__name__} has no step hooks: call recorder.optimizer_step() yourself")
    return optimizer


def learning_rate(optimizer: Any) -> Any:
    """The rate of the first parameter group, as it stands."""
    return optimizer.param_groups[0]["lr"]


def install(watch: "Watch") -> None:
    """Observes applied steps; skipped ones are seen by the scaler."""

    def stepped(optimizer: Any, args: Any, kwargs: Any) -> None:
        if watch.is_suspended:
            return
        if not watch.recorder.contract.get("clip"):
            clip.gradient(watch)
        outcome, divided_out = scaler.outcome_of_step(watch)
        watch.recorder.optimizer_step(outcome, learning_rate(optimizer), divided_out)
        watch.last_scaled.stepped = True

    watch.handles.append(watch.optimizer.register_step_post_hook(stepped))
