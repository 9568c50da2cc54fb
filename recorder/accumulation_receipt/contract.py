"""What a contract must be to be written into a header.

The reader refuses a contract of the wrong shape (GA103) or one that no run can fulfil (GA118); both are refused here
too, before the first step, since a run recorded under such a contract cannot be verified.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

from . import limits, values
from .refusal import Refused

_REQUIRED = ("formula", "accumulation_steps", "world_size", "tail", "tolerance", "precision")
_ARITHMETIC = values.one_of("float64", "float32", "bfloat16", "float16")
_FORMULAS = values.one_of(
    "token-mean/1",
    "mean-of-means/1",
    "rank-token-mean/1",
    "microbatch-global-mean/1",
    "unshifted-count/1",
    "rank-unshifted-count/1",
    "unshifted-weighted-means/1",
    "slot-mean/1",
    "row-weighted/1",
    "stale-denominator/1",
    "unnormalized/1",
)
_CLOCK: dict[str, values.Check] = {
    "interval": values.one_of("update", "epoch"),
    "ticks": lambda field, value: _at_least_one(field, value),
    "position": values.one_of("after", "before"),
}
_MOVE = values.one_of("hold", "advance")


def check_contract(contract: Mapping[str, Any]) -> dict[str, Any]:
    """The contract as it will be written.

    Raises:
        Refused: naming the field.
    """
    if not isinstance(contract, Mapping):
        raise Refused("contract: an object is needed")
    for name in _REQUIRED:
        if name not in contract:
            raise Refused(f"contract.{name}: missing")
    checked = _fields("contract", contract, _FIELDS)
    if checked["world_size"] > 1 and "gradient_reduction" not in checked:
        raise Refused("contract.gradient_reduction: needed where world_size > 1; DistributedDataParallel's is 'mean'")
    return checked


def _fields(name: str, value: Any, checks: Mapping[str, values.Check], required: tuple[str, ...] = ()) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Refused(f"{name}: an object is needed")
    for missing in (field for field in required if field not in value):
        raise Refused(f"{name}.{missing}: missing")
    for unknown in (field for field in value if field not in checks):
        raise Refused(f"{name}.{unknown}: no such field")
    return {field: checks[field](f"{name}.{field}", found) for field, found in value.items()}


def _at_least_one(field: str, value: Any) -> int:
    whole = values.count(field, value)
    if whole < 1:
        raise Refused(f"{field}: 0, where at least 1 is needed")
    return whole


def _bounded(holds: Callable[[float], bool], needed: str) -> values.Check:
    def check(field: str, value: Any) -> float:
        number = values.real(field, value)
        if not holds(number):
            raise Refused(f"{field}: {number}, where {needed} is needed")
        return number

    return check


_positive = _bounded(lambda number: number > 0, "a positive number")
_not_negative = _bounded(lambda number: number >= 0, "a number that is not negative")
_below_one = _bounded(lambda number: 0 <= number < 1, "a number from 0 to less than 1")


def _steps(field: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        return _at_least_one(field, value)
    stages = [
        _fields(f"{field}[{at}]", stage, {"from_window": values.count, "steps": _at_least_one}, ("from_window", "steps"))
        for at, stage in enumerate(value)
    ]
    starts = [stage["from_window"] for stage in stages]
    if not starts or starts[0] != 0 or any(later <= earlier for earlier, later in zip(starts, starts[1:])):
        raise Refused(f"{field}: stages start at window 0 and ascend, not at {starts}")
    return stages


def _world_size(field: str, value: Any) -> int:
    ranks = _at_least_one(field, value)
    if ranks > limits.RANKS:
        raise Refused(f"{field}: {ranks} ranks, beyond the limit of {limits.RANKS}")
    return ranks


def _basis(field: str, value: Any) -> dict[str, Any]:
    checks = {
        "kind": values.one_of("complete", "coordinates", "sketch"),
        "dimension": _at_least_one,
        "seed": values.count,
    }
    basis = _fields(field, value, checks, ("kind", "dimension"))
    if ("seed" in basis) != (basis["kind"] == "sketch"):
        raise Refused(f"{field}.seed: a sketch has one, and nothing else")
    if basis["dimension"] > limits.VECTOR:
        raise Refused(f"{field}.dimension: {basis['dimension']}, beyond the limit of {limits.VECTOR}")
    return basis


def _loss_scale(field: str, value: Any) -> dict[str, Any]:
    policy = value.get("policy") if isinstance(value, Mapping) else None
    if policy == "static":
        return _fields(field, value, {"policy": values.one_of("static"), "value": _positive}, ("value",))
    checks = {
        "policy": values.one_of("dynamic"),
        "initial": _positive,
        "growth_factor": _bounded(lambda number: number > 1, "a number above 1"),
        "backoff_factor": _bounded(lambda number: 0 < number < 1, "a number between 0 and 1"),
        "growth_interval": _at_least_one,
        "growth_delay": values.count,
        "hysteresis": _at_least_one,
        "hysteresis_refill": values.one_of("growth", "clean"),
        "minimum": _positive,
        "maximum": _positive,
    }
    scale = _fields(
        field, value, checks, ("policy", "initial", "growth_factor", "backoff_factor", "growth_interval")
    )
    if not scale.get("minimum", scale["initial"]) <= scale["initial"] <= scale.get("maximum", scale["initial"]):
        raise Refused(f"{field}.initial: {scale['initial']}, outside of minimum and maximum")
    return scale


def _optimizer(field: str, value: Any) -> dict[str, Any]:
    common = {"learning_rate": _not_negative, "weight_decay": _not_negative}
    kinds = {
        "adamw": {"beta1": _below_one, "beta2": _below_one, "epsilon": _not_negative, **common},
        "sgd": {"momentum": _not_negative, **common},
    }
    name = values.one_of(*kinds)(f"{field}.name", value.get("name") if isinstance(value, Mapping) else None)
    return _fields(field, value, {"name": values.one_of(name), **kinds[name]}, tuple(kinds[name]))


def _scheduler(field: str, value: Any) -> dict[str, Any]:
    line = {"peak": _not_negative, "warmup_steps": values.count, "total_steps": _at_least_one}
    kinds: dict[str, dict[str, values.Check]] = {
        "recorded": {},
        "constant": {"peak": _not_negative},
        "linear": line,
        "cosine": {**line, "floor": _not_negative},
    }
    name = values.one_of(*kinds)(f"{field}.name", value.get("name") if isinstance(value, Mapping) else None)
    scheduler = _fields(field, value, {"name": values.one_of(name), **kinds[name], **_CLOCK}, tuple(kinds[name]))
    if scheduler.get("floor", 0.0) > scheduler.get("peak", scheduler.get("floor", 0.0)):
        raise Refused(f"{field}.floor: {scheduler['floor']}, above the peak {scheduler['peak']}")
    if scheduler.get("warmup_steps", 0) > scheduler.get("total_steps", scheduler.get("warmup_steps", 0)):
        raise Refused(f"{field}.warmup_steps: more than total_steps")
    return scheduler


def _words(*choices: str) -> values.Check:
    def check(field: str, value: Any) -> list[str]:
        if not isinstance(value, (list, tuple)) or len(set(value)) != len(value):
            raise Refused(f"{field}: {value!r}, where a list without repetition is needed")
        return [values.one_of(*choices)(field, word) for word in value]

    return check


def _software(field: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise Refused(f"{field}: an object is needed")
    return {values.opaque(field, name): values.opaque(f"{field}.{name}", version) for name, version in value.items()}


_TOLERANCE = {"absolute": _not_negative, "relative": _not_negative}

_FIELDS: dict[str, values.Check] = {
    "formula": _FORMULAS,
    "accumulation_steps": _steps,
    "world_size": _world_size,
    "tail": values.one_of("flush", "carry", "drop"),
    "tolerance": lambda field, value: _fields(field, value, _TOLERANCE, ("absolute", "relative")),
    "precision": _ARITHMETIC,
    "loss_precision": _ARITHMETIC,
    "gradient_reduction": values.one_of("mean", "sum"),
    "gradient_basis": _basis,
    "loss_scale": _loss_scale,
    "clip": lambda field, value: _fields(field, value, {"max_norm": _positive}, ("max_norm",)),
    "optimizer": _optimizer,
    "scheduler": _scheduler,
    "on_skip": lambda field, value: _fields(field, value, {"scheduler": _MOVE, "update": _MOVE}),
    "synchronize": values.one_of("last", "each"),
    "unobserved": _words("zero_grad", "unscale", "clip", "scaler_update", "scheduler_step", "sync"),
    "require": _words(
        "weights", "loss", "denominator", "gradient", "norm", "learning_rate", "accumulated", "parameters"
    ),
    "numerator_source": values.one_of("recomputed", "scaled-loss"),
    "ignore_index": values.integer,
    "random_state": values.one_of("disabled", "fixed-layout", "live"),
    "software": _software,
}
