"""Replacing a method for a while.

Methods are replaced on the class and act on one object only: an attribute on the object would end up in a scheduler's
``state_dict`` and in pickles. Functions are replaced under every name by which a module holds them, since
``from torch.nn.utils import clip_grad_norm_`` keeps the old one.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable


class Patches:
    """Replacements that can be undone, in any order among several recorders: what another one has replaced again
    stays in place and only passes through."""

    def __init__(self) -> None:
        self._active = True
        #: What was replaced: (holder, name, what was there, what is there now).
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def method(self, target: Any, name: str, around: Callable[..., Any]) -> None:
        """Calls of ``target.name`` go through ``around(original, *args, **kwargs)``; other objects are untouched.

        ``original`` is bound. A wrapper that inherits the method from the target's class and has the target as its
        ``optimizer``, as Lightning's has, is taken for the target.
        """
        # An object with a method of its own, as some callers set, is replaced there.
        own = getattr(target, "__dict__", {})
        if name in own:
            self._own_method(target, name, around)
            return
        holder = next(base for base in type(target).__mro__ if name in vars(base))
        original = vars(holder)[name]
        patches = self

        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            is_target = self is target or getattr(self, "optimizer", None) is target
            if not is_target or not patches._active:
                return original(self, *args, **kwargs)
            return around(functools.partial(original, self), *args, **kwargs)

        self._replace(holder, name, method)

    def _own_method(self, target: Any, name: str, around: Callable[..., Any]) -> None:
        original = vars(target)[name]

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs) if self._active else original(*args, **kwargs)

        self._replace(target, name, method)

    def class_method(self, holder: type, name: str, around: Callable[..., Any]) -> None:
        """Calls on any object of the class go through ``around(original, self, *args, **kwargs)``."""
        original = vars(holder)[name]
        patches = self

        @functools.wraps(original)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not patches._active:
                return original(self, *args, **kwargs)
            return around(functools.partial(original, self), self, *args, **kwargs)

        self._replace(holder, name, method)

    def function(self, module: Any, name: str, around: Callable[..., Any]) -> None:
        """Calls of a module's function go through ``around(original, *args, **kwargs)``, however imported."""
        original = getattr(module, name)

        @functools.wraps(original)
        def function(*args: Any, **kwargs: Any) -> Any:
            if not self._active:
                return original(*args, **kwargs)
            return around(original, *args, **kwargs)

        for holder in list(sys.modules.values()):
            names = getattr(holder, "__dict__", None)
            if not isinstance(names, dict):
                continue
            for known in [known for known, value in list(names.items()) if value is original]:
                self._replace(holder, known, function)

    def undo(self) -> None:
        """Puts back everything."""
        self._active = False
        for holder, name, original, replacement in reversed(self._replaced):
            if vars(holder).get(name) is replacement:
                setattr(holder, name, original)
        self._replaced = []

    def _replace(self, holder: Any, name: str, replacement: Any) -> None:
        self._replaced.append((holder, name, vars(holder)[name], replacement))
        setattr(holder, name, replacement)
