"""A stand-in for the little of PyTorch that the recorder observes, so that its hooks are tested where there is no PyTorch.

It computes nothing: a tensor is its numbers, and a backward, step or clip only calls what the real one calls, in that order.
That the real one does so is what ``test_torch.py`` tests.
"""

from __future__ import annotations

import contextlib
import types
from typing import Any, Callable, Iterator, NamedTuple, Optional
from unittest import mock


class Device(NamedTuple):
    """Where a tensor stands."""

    type: str


class Tensor:
    """Numbers on a device; reads of an accelerator's are counted."""

    reads = 0

    def __init__(self, value: Any, device: str = "cpu") -> None:
        self.value = value
        self.device = Device(device)
        self.dtype = "float32"
        self.grad: Optional[Tensor] = None
        self.requires_grad = True

    def __hash__(self) -> int:
        return id(self)

    def _like(self, value: Any) -> "Tensor":
        return Tensor(value, self.device.type)

    def detach(self) -> "Tensor":
        return self

    def clone(self) -> "Tensor":
        return self._like(list(self.value) if isinstance(self.value, list) else self.value)

    def double(self) -> "Tensor":
        wide = self._like(self.value)
        wide.dtype = "float64"
        return wide

    def to(self, device: Any) -> "Tensor":
        return self

    def numel(self) -> int:
        return len(self.value) if isinstance(self.value, list) else 1

    def dim(self) -> int:
        return int(isinstance(self.value, list))

    def reshape(self, *shape: Any) -> "Tensor":
        if shape == (-1,):
            return self if self.dim() else self._like([self.value])
        return self._like(self.value[0]) if self.dim() else self

    def tolist(self) -> Any:
        Tensor.reads += self.device.type != "cpu"
        return self.value

    item = tolist

    def __float__(self) -> float:
        return float(self.tolist())

    def __mul__(self, other: Any) -> "Tensor":
        product = self._like(self.value * (other.value if isinstance(other, Tensor) else other))
        product.dtype = self.dtype
        return product

    __rmul__ = __mul__

    def __add__(self, other: "Tensor") -> "Tensor":
        return self._like(self.value + other.value)

    def backward(self, gradient: Any = None, retain_graph: Any = None) -> None:
        TORCH.autograd.backward(self, gradient, retain_graph)


class Handle:
    """Removes a hook."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self.hooks, self.hook = hooks, hook
        hooks.append(hook)

    def remove(self) -> None:
        self.hooks.remove(self.hook)


class Module:
    """Calls its hooks around ``forward``."""

    def __init__(self, *parameters: Tensor) -> None:
        self.before: list[Any] = []
        self.after: list[Any] = []
        self._parameters = list(parameters)

    def parameters(self) -> Iterator[Tensor]:
        return iter(self._parameters)

    def zero_grad(self) -> None:
        pass

    def register_forward_pre_hook(self, hook: Any) -> Handle:
        return Handle(self.before, hook)

    def register_forward_hook(self, hook: Any, with_kwargs: bool = False) -> Handle:
        return Handle(self.after, hook)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for hook in self.before:
            hook(self, args)
        output = self.forward(*args, **kwargs)
        for hook in self.after:
            hook(self, args, kwargs, output)
        return output

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return None


class Optimizer:
    """Calls its step hooks."""

    def __init__(self, *parameters: Tensor, lr: float = 0.1) -> None:
        self.param_groups = [{"params": list(parameters), "lr": lr}]
        self.hooks: list[Any] = []

    def register_step_post_hook(self, hook: Any) -> Handle:
        return Handle(self.hooks, hook)

    def step(self, closure: Optional[Callable[[], Any]] = None) -> None:
        if closure is not None:
            closure()
        for hook in list(self.hooks):
            hook(self, (), {})

    def zero_grad(self) -> None:
        pass


class Scheduler:
    """Sets a rate."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer

    def step(self) -> None:
        self.optimizer.param_groups[0]["lr"] /= 2


class GradScaler:
    """Calls what ``torch.amp.GradScaler`` calls; ``overflow`` says whether the gradients are nonfinite."""

    def __init__(self, scale: float = 8.0, device: str = "cpu", enabled: bool = True) -> None:
        self._enabled = enabled
        self._scale: Optional[Tensor] = None
        self._init_scale = scale
        self._device = device
        self.overflow = False
        self._per_optimizer_states: dict[int, dict[str, Any]] = {}

    def is_enabled(self) -> bool:
        return self._enabled

    def get_scale(self) -> float:
        return self._init_scale if self._scale is None else float(self._scale)

    def scale(self, outputs: Any) -> Any:
        if self._scale is None:
            self._scale = Tensor(self._init_scale, self._device)
        return outputs * self._scale

    def unscale_(self, optimizer: Any) -> None:
        found = {self._device: Tensor(float(self.overflow), self._device), "other": Tensor(0.0, self._device)}
        self._per_optimizer_states[id(optimizer)] = {"found_inf_per_device": found}

    def step(self, optimizer: Any) -> None:
        if id(optimizer) not in self._per_optimizer_states:
            self.unscale_(optimizer)
        if not self.overflow:
            optimizer.step()

    def update(self) -> None:
        if self.overflow and self._scale is not None:
            self._scale.value /= 2
        self._per_optimizer_states.clear()


def _backward(tensors: Any, grad_tensors: Any = None, *args: Any, **kwargs: Any) -> None:
    pass


def _clip(parameters: Any, max_norm: float, norm_type: float = 2.0, **kwargs: Any) -> Tensor:
    if not isinstance(parameters, Tensor):
        list(parameters)
    return Tensor(3.0)


def _cat(tensors: list[Tensor]) -> Tensor:
    return Tensor([number for tensor in tensors for number in tensor.value], tensors[0].device.type)


def module(name: str, **held: Any) -> Any:
    """A module that holds these."""
    made = types.ModuleType(name)
    vars(made).update(held)
    return made


def _torch() -> Any:
    torch = module("torch", autograd=module("torch.autograd", backward=_backward))
    utils = module("torch.nn.utils", clip_grad=module("torch.nn.utils.clip_grad", clip_grad_norm_=_clip))
    torch.nn = module("torch.nn", Module=Module, utils=utils)
    torch.is_tensor = lambda value: isinstance(value, Tensor)
    torch.is_grad_enabled = lambda: torch.gradients
    torch.gradients = True
    torch.cat = _cat
    return torch


TORCH = _torch()


@contextlib.contextmanager
def pretended(*modules: Any) -> Iterator[None]:
    """Code inside imports the stand-in as ``torch``, and these modules under their names."""
    all_of_them = [TORCH, TORCH.autograd, TORCH.nn.utils.clip_grad, *modules]
    with mock.patch.dict("sys.modules", {each.__name__: each for each in all_of_them}):
        yield


class Labels:
    """Labels as nested lists, with a tensor's shape."""

    def __init__(self, *rows: list[int]) -> None:
        self.rows = list(rows)
        self.shape = (len(rows), len(rows[0]))

    def tolist(self) -> list[list[int]]:
        return self.rows

    def numel(self) -> int:
        return self.shape[0] * self.shape[1]

    def dim(self) -> int:
        return 2
