"""Backward: one event for each, after it ran.

``torch.autograd.backward`` is what ``Tensor.backward`` calls, and what reentrant activation checkpointing calls again
inside; only the outermost call is the microbatch's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ..deferred import product
from ..refusal import RecorderError
from . import scaler, sync

if TYPE_CHECKING:
    from .watch import Watch


def install(watch: "Watch") -> None:
    """Observes every outermost backward."""
    import torch

    def around(original: Any, tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> Any:
        if watch.is_suspended:
            return original(tensors, grad_tensors, *args, **kwargs)
        roots = [tensors] if torch.is_tensor(tensors) else list(tensors)
        # With a gradient of its own the root is not the scalar that is minimised.
        root = roots[0] if len(roots) == 1 and grad_tensors is None and roots[0].numel() == 1 else None
        _demand_description(watch)
        with watch.suspended():
            vectors = _numerator(watch)
            result = original(tensors, grad_tensors, *args, **kwargs)
            _note(watch, *watch.last_scaled.of(root), vectors)
        return result

    watch.patches.function(torch.autograd, "backward", around)


def run(watch: "Watch", loss: Any, retain_graph: Optional[bool]) -> None:
    """Runs ``loss.backward()``, scaled by the attached scaler, and notes it once."""
    with watch.suspended():
        scale = scaler.scale_now(watch.scaler) if watch.scaler is not None else None
        vectors = _numerator(watch)
        (watch.scaler.scale(loss) if watch.scaler is not None else loss).backward(retain_graph=retain_graph)
        _note(watch, loss, scale, vectors)


def _demand_description(watch: "Watch") -> None:
    if watch.described is None:
        raise RecorderError(
            "a backward that nothing was said about: call recorder.microbatch(valid_targets=..., loss_sum=...) before "
            "it, use recorder.backward(...), or wrap what is no microbatch in recorder.unobserved()"
        )


def _numerator(watch: "Watch") -> dict[str, Any]:
    """The gradient numerator, which has to be taken while the graph is there."""
    recorder = watch.recorder
    if "gradient_sum" not in recorder.records or recorder.evidence is None or watch.described is None:
        return {}
    loss_sum = watch.described["loss_sum"]
    if not getattr(loss_sum, "requires_grad", False):
        raise RecorderError("records has gradient_sum: loss_sum must be the tensor with its graph")
    return {"gradient_sum": recorder.evidence.numerator(loss_sum)}


def _note(watch: "Watch", loss: Any, scale: Any, vectors: dict[str, Any]) -> None:
    described, watch.described = dict(watch.described or {}), None
    recorder = watch.recorder
    divisor = described.pop("divisor", None)
    loss_sum = described.pop("loss_sum", None)
    fields = {**vectors, **described, "loss_scale": scale}
    if loss is not None:
        fields["backward_loss"] = loss
    if divisor is not None:
        if loss is None:
            raise RecorderError("a divisor needs a scalar loss")
        loss_sum = product(loss, divisor)
    fields["loss_sum"] = loss_sum
    if "accumulated" in recorder.records and recorder.evidence is not None:
        fields["accumulated"] = recorder.evidence.gradient()
    fields = {**sync.observed(watch), **fields}
    recorder.record_backward(**fields)
