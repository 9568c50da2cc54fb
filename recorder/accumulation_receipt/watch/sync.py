"""Whether gradients were all-reduced: at the forward and at the backward.

``DistributedDataParallel`` reads ``require_backward_grad_sync`` in its forward, where it prepares the reducer, and that
is what really syncs; ``no_sync`` around the backward alone changes nothing. Both are recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .watch import Watch

_FLAG = "require_backward_grad_sync"


def install(watch: "Watch") -> None:
    """Observes the forward of a DistributedDataParallel."""
    watch.forward_sync = None
    if not hasattr(watch.model, _FLAG):
        return
    import torch

    def forward(module: Any, args: Any) -> None:
        if torch.is_grad_enabled() and not watch.is_suspended:
            watch.forward_sync = bool(getattr(module, _FLAG))

    watch.handles.append(watch.model.register_forward_pre_hook(forward))


def observed(watch: "Watch") -> dict[str, Any]:
    """The fields that a backward has where the model tells; empty otherwise."""
    if not hasattr(watch.model, _FLAG):
        return {}
    fields: dict[str, Any] = {"sync": bool(getattr(watch.model, _FLAG))}
    if watch.forward_sync is not None:
        fields["forward_sync"] = watch.forward_sync
    return fields
