"""``torch.amp.GradScaler``: which loss was scaled, unscaling, skipped steps, and the scale itself.

The scale is a tensor that is updated in place; it is copied on its device and read with the window, since
``GradScaler.get_scale`` would wait for it.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Optional

from ..deferred import later
from . import optimizer

if TYPE_CHECKING:
    from .watch import Watch


class LastScaled:
    """The last loss that the scaler scaled, and what came of it."""

    def __init__(self) -> None:
        self._scaled: Optional["weakref.ref[Any]"] = None
        self._loss: Any = None
        self._scale: Any = None
        self._scaler: Any = None
        #: Whether a step's post hook has run since this was last set to False.
        self.stepped = False
        #: Whether the open window's gradients were unscaled.
        self.unscaled = False

    def begin(self, scaler: Any) -> None:
        """Observes this scaler."""
        self._scaler = scaler

    def note(self, loss: Any, scale: Any, scaled: Any) -> None:
        """``scaled`` is ``loss`` times ``scale``."""
        self._scaled, self._loss, self._scale = weakref.ref(scaled), loss.detach(), scale

    def of(self, root: Any) -> tuple[Any, Any]:
        """(loss before scaling, S) of the tensor that backward ran on. S is 1 where a scaler is there and was not
        asked; None without a scaler."""
        if self._scaler is None:
            return root, None
        if root is not None and self._scaled is not None and self._scaled() is root:
            return self._loss, self._scale
        return root, 1.0


def is_in_use(scaler: Any) -> bool:
    """Whether there is a scaler that scales."""
    return scaler is not None and scaler.is_enabled()


def scale_now(scaler: Any) -> Any:
    """S in force: a number, or a copy on its device."""
    scale = getattr(scaler, "_scale", None)
    # Before the first use the scaler has no tensor yet, and get_scale waits for nothing.
    return later(scale if scale is not None else float(scaler.get_scale()))


def outcome_of_step(watch: "Watch") -> tuple[Any, Any]:
    """(outcome, S that the step divided out itself) of a step whose post hook runs.

    A fused optimizer is always called, and skips by itself where ``found_inf`` is set.
    """
    found = getattr(watch.optimizer, "found_inf", None)
    if watch.scaler is None or found is None:
        return "applied", None
    divided_out = None if watch.last_scaled.unscaled else scale_now(watch.scaler)
    return later(found, lambda inf: "skipped" if inf else "applied"), divided_out


def install(watch: "Watch") -> None:
    """Observes scale, unscale_, step and update."""
    watch.last_scaled = LastScaled()
    if watch.scaler is None:
        return
    state = watch.last_scaled
    state.begin(watch.scaler)
    recorder, patches = watch.recorder, watch.patches

    def scale(original: Any, outputs: Any) -> Any:
        scaled = original(outputs)
        if hasattr(outputs, "detach"):
            state.note(outputs, scale_now(watch.scaler), scaled)
        return scaled

    def unscale(original: Any, given: Any) -> Any:
        result = original(given)
        if optimizer.innermost(given) is watch.optimizer and not watch.is_suspended:
            state.unscaled = True
            recorder.unscale(scale_now(watch.scaler), _found_inf(watch.scaler, given))
        return result

    def step(original: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
        state.stepped = False
        result = original(given, *args, **kwargs)
        if optimizer.innermost(given) is watch.optimizer and not watch.is_suspended:
            if not state.stepped:
                recorder.optimizer_step(False, optimizer.learning_rate(watch.optimizer))
            state.unscaled = False
        return result

    def update(original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not watch.is_suspended:
            recorder.scaler_update(scale_now(watch.scaler))
        return result

    for name, around in (("scale", scale), ("unscale_", unscale), ("step", step), ("update", update)):
        patches.method(watch.scaler, name, around)


def _found_inf(scaler: Any, given: Any) -> Any:
    """Whether unscaling found a gradient that is not finite; None where this version of PyTorch does not tell."""
    states = getattr(scaler, "_per_optimizer_states", {})
    found = states.get(id(given), {}).get("found_inf_per_device", {}) if hasattr(states, "get") else {}
    flags = list(found.values())
    if not flags:
        return None
    total = flags[0]
    for flag in flags[1:]:
        total = total + flag.to(total.device)
    return later(total, bool)
