"""Clearing of gradients, by the optimizer or by a module that holds all its parameters.

Assigning ``parameter.grad = None`` in a loop of one's own is not seen: call ``recorder.zero_grad()`` there, or declare
``zero_grad`` in the contract's ``unobserved``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .watch import Watch


def install(watch: "Watch") -> None:
    """Observes ``zero_grad`` of the optimizer and of modules."""
    import torch

    def by_optimizer(original: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not watch.is_suspended:
            watch.recorder.zero_grad()
        return result

    def by_module(original: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if not watch.is_suspended and watch.covered_by(module.parameters()):
            watch.recorder.zero_grad()
        return result

    watch.patches.method(watch.optimizer, "zero_grad", by_optimizer)
    watch.patches.class_method(torch.nn.Module, "zero_grad", by_module)
