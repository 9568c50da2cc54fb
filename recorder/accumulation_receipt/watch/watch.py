"""What one recorder observes of one optimizer's loop."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Iterator, Optional

from . import backward, clip, optimizer, scaler, scheduler, sync, zeroing
from .patches import Patches

if TYPE_CHECKING:
    from ..recorder import Recorder


class Watch:
    """The observed objects, and what is known about the microbatch that comes next."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder
        self.optimizer: Any = None
        self.scheduler: Any = None
        self.scaler: Any = None
        self.model: Any = None
        #: What the loop, or a watched forward, said about the microbatch whose backward comes next.
        self.described: Optional[dict[str, Any]] = None
        #: Whether the last forward was outside no_sync; None where the model does not tell.
        self.forward_sync: Optional[bool] = None
        self.last_scaled = scaler.LastScaled()
        self.patches = Patches()
        #: Hook handles of torch, to be removed.
        self.handles: list[Any] = []
        #: Forwards that describe microbatches; they outlive an attach.
        self._forwards: list[Any] = []
        self._suspended = 0

    @property
    def is_suspended(self) -> bool:
        """Whether what happens now is not the loop's."""
        return self._suspended > 0

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """What happens inside is not observed."""
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1

    def attach(self, given_optimizer: Any, given_scheduler: Any, given_scaler: Any, model: Any) -> None:
        """Observes these objects; replaces what was observed before."""
        self._unhook()
        self.optimizer = optimizer.innermost(given_optimizer)
        self.scheduler = scheduler.innermost(given_scheduler)
        self.scaler = given_scaler if scaler.is_in_use(given_scaler) else None
        self.model = model
        for part in (backward, clip, optimizer, scaler, scheduler, sync, zeroing):
            part.install(self)

    def detach(self) -> None:
        """Stops observing."""
        self._unhook()
        for forward in self._forwards:
            forward.remove()
        self._forwards = []

    def add_forward(self, forward: Any) -> None:
        """Keeps a forward that describes microbatches."""
        self._forwards.append(forward)

    def _unhook(self) -> None:
        self.patches.undo()
        for handle in self.handles:
            handle.remove()
        self.patches, self.handles = Patches(), []
        self.optimizer = self.scheduler = self.scaler = self.model = None

    def run_backward(self, loss: Any, retain_graph: Optional[bool]) -> None:
        """Runs and records the backward of the described microbatch."""
        backward.run(self, loss, retain_graph)

    def owns(self, parameters: Any) -> bool:
        """Whether any of these parameters is the watched optimizer's."""
        return not self._owned().isdisjoint(id(parameter) for parameter in parameters)

    def covered_by(self, parameters: Any) -> bool:
        """Whether all of the watched optimizer's parameters are among these."""
        return self._owned() <= {id(parameter) for parameter in parameters}

    def _owned(self) -> set[int]:
        return {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}
