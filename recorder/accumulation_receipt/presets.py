"""Contracts as the frameworks ship.

A preset fills in what a framework does without being asked: loss scale, clipping, tail, scheduler clock, and what
cannot be seen there. The formula is token-mean, what a big batch would do, except where a framework documents another
default. What the user configured, such as another clip, is given by name and replaces it.

Beside each value stands where it was read: package, release, file. Every one was looked up in that release's source; for
Transformers, Accelerate and Lightning the recorded runs in ``fixtures/recorder`` show them too.
"""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any, Optional

#: Arithmetic -> (absolute, relative) tolerance of losses and recorded numbers. A loss computed in binary32 is good to
#: some 1e-6; half precision is judged in the arithmetic of the loss, which autocast leaves in binary32.
_TOLERANCE = {"float64": (1e-11, 1e-10), "float32": (1e-6, 1e-5), "bfloat16": (1e-6, 1e-5), "float16": (1e-6, 1e-5)}

#: torch.amp.GradScaler: torch 2.15.0, torch/amp/grad_scaler.py, GradScaler.__init__.
_GRAD_SCALER = {
    "policy": "dynamic",
    "initial": 65536.0,
    "growth_factor": 2.0,
    "backoff_factor": 0.5,
    "growth_interval": 2000,
}

#: DeepSpeed's, for ZeRO stages 1 to 3: deepspeed 0.19.8, runtime/precision_config.py, DeepSpeedFP16Config:
#: initial_scale_power 16, loss_scale_window 1000, hysteresis 2, consecutive_hysteresis false, min_loss_scale 1; and
#: runtime/fp16/loss_scaler.py, DynamicLossScaler: scale_factor 2. The first growth comes when
#: cur_iter - last_overflow_iter - 1 is a multiple of the window: one clean window late. Stage 0 has no hysteresis
#: (runtime/fp16/fused_optimizer.py, unfused_optimizer.py: _update_scale).
_DEEPSPEED_SCALER = {
    **_GRAD_SCALER,
    "growth_interval": 1000,
    "growth_delay": 1,
    "hysteresis": 2,
    "minimum": 1.0,
}

#: Megatron's: megatron-core 0.16.1, core/optimizer/optimizer_config.py: initial_loss_scale 2^32, min_loss_scale 1,
#: loss_scale_window 1000, hysteresis 2; core/optimizer/__init__.py: growth_factor 2, backoff_factor 0.5;
#: core/optimizer/grad_scaler.py, DynamicGradScaler.update: the hysteresis is refilled on growth.
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
    """transformers 4.45.2, 4.46.0, 4.46.3, 4.47.0, 4.48.0, 4.57.6 and 5.24.0.

    Clip: training_args.py, ``max_grad_norm`` 1.0. The rest is in trainer.py, the training loop: the scheduler ticks
    unless ``accelerator.optimizer_step_was_skipped``, and ``state.global_step`` counts either way. A short window is
    stepped where ``(step + 1) == steps_in_epoch``; before 4.47 ``total_batched_samples % K`` ran through the epoch's
    end, so that it went on. Scaler: Accelerate's. Ignored labels: loss/loss_utils.py, ``ignore_index`` -100.
    """
    preset = {
        "clip": {"max_norm": 1.0},
        "numerator_source": "scaled-loss",
        "ignore_index": -100,
        "on_skip": {"scheduler": "hold", "update": "advance"},
    }
    if version is not None and _release(version) < (4, 47):
        preset["tail"] = "carry"
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _accelerate(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    """accelerate 0.34.2 and 1.15.0.

    scheduler.py, ``AcceleratedScheduler.step``: one tick for each process (``split_batches`` is False by default), none
    after ``step_was_skipped``. accelerator.py, ``_do_sync``: the end of the data ends a window. Scaler:
    utils/dataclasses.py, ``GradScalerKwargs``.
    """
    preset = {"scheduler": {"name": "recorded", "ticks": world_size}}
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _lightning(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    """lightning 2.6.6, under lightning/pytorch.

    utilities/types.py, ``LRSchedulerConfig.interval`` "epoch". loops/training_epoch_loop.py: ``update_lr_schedulers``
    asks for no skipped step; ``_should_accumulate`` steps at the last batch. loops/optimization/automatic.py:
    ``global_step`` counts every call of the optimizer. trainer/trainer.py: ``gradient_clip_val`` None. Scaler:
    plugins/precision/amp.py, a ``torch.amp.GradScaler`` for 16-mixed; 16-true has none.
    """
    preset = {
        "scheduler": {"name": "recorded", "interval": "epoch"},
        "numerator_source": "recomputed",
        "on_skip": {"scheduler": "advance", "update": "advance"},
    }
    return _with_scaler(preset, precision, _GRAD_SCALER)


def _deepspeed(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    """deepspeed 0.19.8, runtime/engine.py; not run through the recorder.

    ``_take_model_step`` unscales, clips and zeroes inside, and its return value does not show these;
    ``allreduce_gradients`` decides by itself. There ``lr_scheduler`` does not tick after an overflow, while
    ``global_steps`` counts it. ``is_gradient_accumulation_boundary`` counts microbatches through an epoch's end.
    """
    preset = {
        "unobserved": ["zero_grad", "unscale", "clip", "sync"],
        "tail": "carry",
        "on_skip": {"scheduler": "hold", "update": "advance"},
    }
    return _with_scaler(preset, precision, _DEEPSPEED_SCALER)


def _torchtune(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    """torchtune 0.6.1, recipes/full_finetune_*.py and lora_finetune_*.py; not run through the recorder.

    ``_steps_per_epoch`` is the data's length divided by K, rounded down, so a short window is meant to be left out.
    (Its gradients are not cleared and reach the next epoch's first window, which is found as GA601 and GA310.)
    ``clip_grad_norm`` is null in 115 of 125 configurations. There is no scaler.
    """
    return {"tail": "drop"}


def _megatron(version: Optional[str], world_size: int, precision: str) -> dict[str, Any]:
    """megatron-core 0.16.1, and megatron/training of the Megatron-LM repository; not run through the recorder.

    core/transformer/transformer_config.py: ``calculate_per_token_loss`` False, so that core/pipeline_parallel/
    schedules.py averages each microbatch by itself, by default and by intent. core/optimizer/optimizer_config.py:
    ``clip_grad`` 1.0. training.py, ``train_step``: the scheduler ticks where ``update_successful``; the iteration counts
    either way. Unscaling is inside of ``optimizer.step``, reduction inside of ``finalize_model_grads``. Global batches
    are whole; what the data has left over is not handed out.
    """
    preset = {
        "formula": "mean-of-means/1",
        "clip": {"max_norm": 1.0},
        "tail": "drop",
        "unobserved": ["unscale", "sync"],
        "on_skip": {"scheduler": "hold", "update": "advance"},
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
