"""The events of a microbatch manifest: their fields, which are required, and what becomes of nonfinite numbers.

Field names and meanings are those of the wire format, version 1 (section 4).
"""

from __future__ import annotations

import json
from typing import Any, Mapping, Optional

from . import limits, values
from .deferred import known
from .refusal import Refused

_SUM_OR_NONFINITE = ("loss_sum", "backward_loss", "auxiliary_loss", "gradient_sum")

#: Event -> field -> check. A trailing ``!`` marks a required field.
_FIELDS: dict[str, dict[str, values.Check]] = {
    "zero_grad": {},
    "backward": {
        "window!": values.count,
        "microbatch!": values.identifier,
        "valid_targets!": values.count,
        "loss_sum": values.real,
        "nonfinite": values.flag,
        "backward_loss": values.real,
        "auxiliary_loss": values.real,
        "sync": values.flag,
        "forward_sync": values.flag,
        "loss_scale": values.real,
        "rows": values.count,
        "slots": values.count,
        "unshifted_targets": values.count,
        "gradient_sum": values.vector,
        "accumulated": values.vector,
    },
    "rescale": {"factor!": values.real},
    "unscale": {"loss_scale": values.real, "nonfinite": values.flag},
    "clip": {"max_norm!": values.real, "norm": values.real, "nonfinite": values.flag},
    "optimizer_step": {
        "window!": values.count,
        "outcome!": values.one_of("applied", "skipped"),
        "update": values.count,
        "learning_rate": values.real,
        "loss_scale": values.real,
    },
    "scaler_update": {"loss_scale!": values.real},
    "scheduler_step": {"learning_rate!": values.real},
    "logged": {
        "window!": values.count,
        "loss": values.real,
        "denominator": values.count,
        "grad_norm": values.real,
        "gradient": values.vector,
        "decimals": values.decimals,
        "windows": values.count,
    },
    "parameters": {"values!": values.vector},
    "checkpoint": {"update!": values.count},
    "evaluation": {"update!": values.count},
    "epoch_end": {"microbatches": values.count},
    "carry": {
        "window!": values.count,
        "microbatches!": values.identifiers,
        "valid_targets!": values.count,
        "loss_sum!": values.real,
        "backwards!": values.count,
        "next_microbatch": values.identifier,
        "random_state": values.opaque,
    },
    "drop": {"window!": values.count, "microbatches!": values.identifiers, "valid_targets!": values.count},
    "restore": {
        "window!": values.count,
        "applied_updates!": values.count,
        "loss_scale": values.real,
        "growth_tracker": values.count,
        "hysteresis_left": values.count,
        "growth_delay_pending": values.flag,
        "learning_rate": values.real,
    },
}

_CHECKS = {event: {name.rstrip("!"): check for name, check in fields.items()} for event, fields in _FIELDS.items()}
_REQUIRED = {event: [name[:-1] for name in fields if name.endswith("!")] for event, fields in _FIELDS.items()}

#: Fields that hold a vector. [D]
VECTORS = {name for checks in _CHECKS.values() for name, check in checks.items() if check is values.vector}

#: What is left out where it is not finite, since the format has no other way to say so.
_LEFT_OUT = {
    "backward": ("accumulated",),
    "logged": ("loss", "grad_norm", "gradient"),
}


def seal(event: str, fields: Mapping[str, Any]) -> Optional[dict[str, Any]]:
    """The fields as JSON will hold them: deferred numbers read, nonfinite ones told as such, everything checked.

    Returns None where nothing of the event can be told (parameters that are not finite, say).

    Raises:
        Refused: a field that the format does not have, lacks, or refuses.
    """
    told = {name: known(value) for name, value in fields.items() if value is not None}
    checks = _CHECKS.get(event)
    if checks is None:
        raise Refused(f"{event}: no such event")
    for name in told:
        if name not in checks:
            raise Refused(f"{event}.{name}: no such field")
    _tell_nonfinite(event, told)
    for name in _LEFT_OUT.get(event, ()):
        if name in told and not values.is_finite(told[name]):
            del told[name]
    if event == "logged" and not told.keys() & {"loss", "denominator", "grad_norm", "gradient"}:
        return None
    if event == "parameters" and not values.is_finite(told["values"]):
        return None
    for name in _REQUIRED[event]:
        if name not in told:
            raise Refused(f"{event}.{name}: missing")
    return {name: checks[name](f"{event}.{name}", value) for name, value in told.items()}


def line(event: str, sealed: Mapping[str, Any]) -> str:
    """One line of JSON, without its newline."""
    text = _compact(event if not sealed else {event: sealed})
    if len(text) > limits.LINE_BYTES:
        raise Refused(f"{event}: a line of {len(text)} bytes, beyond the limit of {limits.LINE_BYTES}")
    return text


def header_line(rank: int, contract: Mapping[str, Any]) -> str:
    """The first line of a microbatch manifest."""
    return _compact({"schema": "accumulation/microbatch-manifest/1", "rank": rank, "contract": contract})


def _tell_nonfinite(event: str, told: dict[str, Any]) -> None:
    """A microbatch or clip whose numbers are not finite says so instead of them."""
    if event == "backward":
        lost = [name for name in _SUM_OR_NONFINITE if name in told and not values.is_finite(told[name])]
        if lost or told.get("nonfinite"):
            for name in {*lost, "loss_sum"}:
                told.pop(name, None)
            told["nonfinite"] = True
        elif "loss_sum" not in told:
            raise Refused("backward.loss_sum: missing")
        else:
            told.pop("nonfinite", None)
    elif event == "clip":
        if told.get("nonfinite") or ("norm" in told and not values.is_finite(told["norm"])):
            told.pop("norm", None)
            told["nonfinite"] = True
        elif "norm" not in told:
            raise Refused("clip.norm: missing")
        else:
            told.pop("nonfinite", None)


def _compact(value: Any) -> str:
    # ASCII only: the bytes do not depend on a locale.
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
