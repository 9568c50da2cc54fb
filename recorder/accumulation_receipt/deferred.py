"""Numbers that stay on the device until a window ends.

Reading one number from an accelerator makes the host wait for it. The recorder therefore keeps a copy on the device
and reads all numbers of a window at once: one transfer for each device and dtype.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any, Callable, Iterable, Optional


def on_host(tensor: Any) -> bool:
    """Whether reading this tensor makes nobody wait."""
    return tensor.device.type == "cpu"


class Deferred:
    """A number, or a vector [D], that is still on a device."""

    __slots__ = ("tensor", "value", "_then")

    def __init__(self, tensor: Any, then: Optional[Callable[[Any], Any]] = None) -> None:
        # A copy, since losses and loss scales are changed in place by some loops.
        self.tensor = tensor.detach().clone()
        self.value: Any = None
        self._then = then

    def arrived(self, value: Any) -> None:
        """The value is on the host now."""
        self.value = value if self._then is None else self._then(value)
        self.tensor = None


def later(value: Any, then: Optional[Callable[[Any], Any]] = None) -> Any:
    """A plain number or list at once where that costs nothing, else a :class:`Deferred`.

    ``then`` is applied to what was read, such as a division by the loss scale in binary64.
    """
    if not hasattr(value, "detach"):
        return value if then is None else then(value)
    if on_host(value):
        plain = _plain(value)
        return plain if then is None else then(plain)
    return Deferred(value, then)


def known(value: Any) -> Any:
    """The value of what may be deferred, after :func:`read`."""
    return value.value if isinstance(value, Deferred) else value


def read(waiting: Iterable[Deferred]) -> None:
    """Reads everything that is still on a device: one transfer for each (device, dtype)."""
    groups: dict[tuple[Any, Any], list[Deferred]] = defaultdict(list)
    for deferred in waiting:
        if deferred.tensor is not None:
            groups[deferred.tensor.device, deferred.tensor.dtype].append(deferred)
    for group in groups.values():
        torch = sys.modules["torch"]
        tensors = [deferred.tensor for deferred in group]
        numbers = torch.cat([tensor.reshape(-1) for tensor in tensors]).tolist()
        at = 0
        for deferred, tensor in zip(group, tensors):
            piece = numbers[at : at + tensor.numel()]
            at += tensor.numel()
            deferred.arrived(piece if tensor.dim() == 1 else piece[0])


def product(one: Any, other: Any) -> Any:
    """A product in binary64: on the host where both factors are there, else on the device."""
    left, right = later(one), later(other)
    if not isinstance(left, Deferred) and not isinstance(right, Deferred):
        return left * right
    if isinstance(left, Deferred):
        return one.detach().double() * other
    return other.detach().double() * one


def _plain(tensor: Any) -> Any:
    return tensor.detach().tolist() if tensor.dim() == 1 else tensor.detach().reshape(()).item()
