"""A run that goes on with its file after a restart: what stands there, and whether a saved state can be later than it.

The file is written up to the last event between two windows, so it is behind no state that was saved there, unless the
machine itself went down, or the state was saved inside of ``with recorder.window():``. Going on from a later state would
leave a hole, for which ``receipt verify`` would blame the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence

from .refusal import RecorderError

_ADVICE = (
    "go back to an earlier state, or begin another file and call restore() first of all; call checkpoint() before you "
    "save, so that the file is never behind"
)


@dataclass(frozen=True)
class Position:
    """How far a file goes."""

    #: The window that is open or comes next; None where no window was begun.
    window: Optional[int] = None
    #: Backwards that it holds.
    microbatches: int = 0
    #: What the contract has after the last step and the file has not.
    missing: Optional[str] = None


def position(earlier: Sequence[Any], contract: Mapping[str, Any]) -> Position:
    """How far the events of an earlier process go."""
    window, microbatches = None, 0
    for event in earlier:
        name, fields = _named(event)
        if name in ("backward", "restore"):
            window = fields["window"]
        elif name in ("optimizer_step", "drop", "carry"):
            window = fields["window"] + 1
        microbatches += name == "backward"
    return Position(window, microbatches, _missing(earlier, contract))


def demand_reached(window: int, reached: Position) -> None:
    """Refuses to go on with ``window`` where the file does not go up to it.

    Raises:
        RecorderError: with what to do.
    """
    if reached.window is None:
        return
    if window > reached.window:
        raise RecorderError(
            f"restore to window {window}, but window {reached.window} was not recorded to its end: the state was saved "
            f"later than the file was written; {_ADVICE}"
        )
    if window == reached.window and reached.missing:
        raise RecorderError(
            f"restore to window {window}, but the file ends with the step before it and lacks {reached.missing}: the state "
            f"was saved later than the file was written; {_ADVICE}"
        )


def _missing(earlier: Sequence[Any], contract: Mapping[str, Any]) -> Optional[str]:
    """What must come after a step and was cut off there. A loop that goes on without it is not cut, but wrong."""
    behind: list[str] = []
    for event in reversed(earlier):
        name, fields = _named(event)
        if name == "optimizer_step":
            break
        behind.append(name)
    else:
        return None
    if not set(behind) <= {"parameters", "scaler_update"}:
        return None
    unobserved = contract.get("unobserved", ())
    is_dynamic = contract.get("loss_scale", {}).get("policy") == "dynamic"
    if is_dynamic and "scaler_update" not in behind and "scaler_update" not in unobserved:
        return "its scaler update"
    scheduler = {"interval": "update", "position": "after", **contract.get("scheduler", {"interval": None})}
    ticks = fields["outcome"] == "applied" or contract.get("on_skip", {}).get("scheduler") == "advance"
    is_after = (scheduler["interval"], scheduler["position"]) == ("update", "after")
    return "its scheduler's tick" if ticks and is_after and "scheduler_step" not in unobserved else None


def _named(event: Any) -> tuple[str, Mapping[str, Any]]:
    """Name and fields of an event as JSON holds it."""
    return next(iter(event.items())) if isinstance(event, dict) else (event, {})
