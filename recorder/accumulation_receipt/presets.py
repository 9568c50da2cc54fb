"""Contracts as the frameworks ship.

A preset fills in what a framework does without being asked: loss scale, clipping, tail, scheduler clock, and what
cannot be seen there. The formula is token-mean, what a big batch would do, except where a framework documents another
default. What the user configured, such as another clip, is given by name and replaces it.
"""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any, Optional

#: Arithmetic -> (absolute, relative) tolerance of losses and recorded numbers. A loss computed in binary32 is good to
#: some 1e-6; half precision is judged in the arithmetic of the loss, which autocast leaves in binary32.
_TOLERANCE = {"float64": (1e-11, 1e-10), "float32": (1e-6, 1e-5), "bfloat16": (1e-6, 1e-5), "float16": (1e-6, 1e-5)}

#: torch.amp.GradScaler's defaults (torch/amp/grad_scaler.py, 2.6).
_GRAD_SCALER = {
    "policy": "dynamic",
    "initial": 65536.0,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
}

#: deepspeed/runtime/fp16/loss_scaler.py with the defaults of its configuration: initial_scale_power 16,
#: loss_scale_window 1000, hysteresis 2, min_loss_scale 1, consecutive_hysteresis false. The first growth comes when
#: cur_iter - last_overflow_iter - 1 is a multiple of the window: one clean window late.
_DEEPSPEED_SCALER = {
    **_GRAD_SCALER,
    "growth_interval": 1000,
    "growth_delay": 1,
    "hysteresis": 2,
    "minimum": 1.0,
}

#: megatron/core/optimizer/grad_scaler.py with megatron/training/arguments.py: initial_loss_scale 2^32,
#: min_loss_scale 1, loss_scale_window 1000, hysteresis 2.
_MEGATRON_SCALER = {
    **_GRAD_SCALER,
    "initial": 4294967296.0,
    "growth_interval": 1000,
    "hysteresis": 2,
    "minimum": 1.0,
}


def contract_for(
    framework: str,
    version: Optional[str] = None,
    *,
    accumulation_steps: Any,
    world_size: int = 1,
    precision: str = "float32",
    **declared: Any,
) -> dict[str, Any]:
    """A contract as the framework ships it.

    Args:
        framework: ``pytorch``, ``transformers``, ``accelerate``, ``lightning``, ``deepspeed``, ``torchtune`` or
            ``megatron``.
        version: of the framework, as ``4.57.6``; the installed one's by default. Recorded, and where releases differ
            the preset does too.
        accumulation_steps: K, or a schedule of it.
        world_size: data-parallel ranks.
        precision: of forward and backward. ``float16`` brings the framework's loss scaler.
        declared: any field of the contract, in place of the preset's; None takes a field out.

    Returns:
        A contract, a new dict each time. ``software`` has framework, PyTorch and Python.
    """
    if framework not in _PRESETS:
        raise ValueError(f"{framework!r}, where one of {', '.join(sorted(_PRESETS))} is needed")
    if version is None and framework in _DISTRIBUTIONS:
        version = _installed(_DISTRIBUTIONS[framework])
    absolute, relative = _TOLERANCE.get(precision, _TOLERANCE["float32"])
    contract: dict[str, Any] = {
        "formula": "token-mean/1",
        "accumulation_steps": accumulation_steps,
        "world_size": world_size,
        "tail": "flush",
        "tolerance": {"absolute": absolute, "relative": relative},
        "precision": precision,
        "scheduler": {"name": "recorded"},
    }
    if world_size > 1:
        contract["gradient_reduction"] = "mean"
    preset = _PRESETS[framework](version, world_size, precision)
    software = {"python": platform.python_version(), "torch": _installed("torch"), framework: version}
    contract["software"] = {name: found for name, found in software.items() if found and name != "pytorch"}
    contract.update(preset)
    contract.update(declared)
    return {name: value for name, value in contract.items() if value is not None}


def _pytorch(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    return _with_scaler({}, precision, _GRAD_SCALER)


def _transformers(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # Trainer clips at max_grad_norm 1.0, ticks once an update and not after a skipped one, while global_step counts
    # that one too. Up to 4.45 its counter runs through the epoch's end, so that a short window goes on.
    preset = {
        "clip": {"max_norm": 1.0},
        "numerator_source": "scaled-loss",
        "ignore_index": -100,
        "on_skip": {"scheduler": "hold", "update": "advance"},
    }
    if version is not None and _release(version) < (4, 46):
        preset["tail"] = "carry"
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _accelerate(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # AcceleratedScheduler ticks once for each process (split_batches False), and not after a skipped step.
    preset = {"scheduler": {"name": "recorded", "ticks": world_size}}
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _lightning(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # Schedulers tick each epoch unless configure_optimizers says "step"; neither they nor global_step ask whether the
    # scaler skipped.
    preset = {
        "scheduler": {"name": "recorded", "interval": "epoch"},
        "numerator_source": "scaled-loss",
        "on_skip": {"scheduler": "advance", "update": "advance"},
    }
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _deepspeed(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # engine.step() clips, unscales and zeroes inside, and reduces at the window's end by itself; what it returns and
    # logs does not show these.
    preset = {"unobserved": ["zero_grad", "unscale", "clip", "sync"], "tail": "carry"}
    return _with_scaler(preset, precision, _DEEPSPEED_SCALER)


def _torchtune(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # The recipes scale the gradients once, by ranks over tokens (record it as a rescale), and take a short window
    # into the next epoch.
    return {"tail": "carry"}


def _megatron(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    # Without --calculate-per-token-loss each microbatch is averaged by itself, by default and by intent. Global
    # batches are whole, the rest of the data is left.
    preset = {
        "formula": "mean-of-means/1",
        "clip": {"max_norm": 1.0},
        "tail": "drop",
        "unobserved": ["unscale", "sync"],
    }
    return _with_scaler(preset, precision, _MEGATRON_SCALER)


_PRESETS = {
    "pytorch": _pytorch,
    "transformers": _transformers,
    "accelerate": _accelerate,
    "lightning": _lightning,
    "deepspeed": _deepspeed,
    "torchtune": _torchtune,
    "megatron": _megatron,
}

#: Framework -> the distribution whose version is meant.
_DISTRIBUTIONS = {
    "transformers": "transformers",
    "accelerate": "accelerate",
    "lightning": "lightning",
    "deepspeed": "deepspeed",
    "torchtune": "torchtune",
    "megatron": "megatron-core",
}


def _with_scaler(preset: dict[str, Any], precision: str, scaler: dict[str, Any]) -> dict[str, Any]:
    return {**preset, "loss_scale": dict(scaler)} if precision == "float16" else preset


def _release(version: str) -> tuple[int, int]:
    """Major and minor number."""
    major, minor = (version.split(".") + ["0"])[:2]
    return int(major), int(minor)


def _installed(distribution: str) -> Optional[str]:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
