"""The recorder: what one rank did, window by window.

Invariants:

* events are written in the order in which they happened, each with the window it belongs to;
* one write a window, when its optimizer step is recorded (or when ``with recorder.window():`` ends); what comes between
  windows, such as the scheduler's tick, is written as it comes. So a crash loses at most the open window, and the file
  is never behind a state that was saved between two windows;
* nothing is read from an accelerator before a window's write;
* what the wire format refuses raises :class:`~accumulation_receipt.refusal.Refused` and is not written.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from . import limits, values
from .contract import check_contract
from .deferred import Deferred, later, read
from .events import VECTORS, line, seal
from .evidence import Evidence
from .forward import Forward
from .journal import Journal
from .refusal import RecorderError, Refused
from .restart import Position, demand_reached, position
from .watch import Watch

#: What evidence a recorder takes where it is given a basis.
_RECORDS = ("accumulated", "parameters", "gradient", "gradient_sum")


class Recorder:
    """Writes the microbatch manifest of one rank.

    Args:
        path: the file, one a rank; ``.jsonl`` by custom. It must not exist, unless ``append``.
        contract: what is declared before the run, equal on all ranks (``receipt schema microbatches``);
            :func:`~accumulation_receipt.presets.contract_for` makes one.
        rank: data-parallel rank, 0 .. world_size.
        append: go on with a file after a restart; the next thing to record is then :meth:`restore`.
        evidence: a basis for vectors: :class:`Coordinates`, :class:`Complete` or :class:`Sketch`.
        records: which vectors: ``accumulated`` (gradient buffers after each backward), ``parameters`` (after each
            step; not with a sketch), ``gradient`` (before clipping), ``gradient_sum`` (of each numerator; costs a
            backward pass more, and :meth:`backward` must be given ``loss_sum`` with its graph).
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        contract: Mapping[str, Any],
        rank: int = 0,
        *,
        append: bool = False,
        evidence: Optional[Evidence] = None,
        records: Sequence[str] = ("accumulated", "parameters"),
    ) -> None:
        self.evidence = evidence
        self.records = frozenset(records if evidence is not None else ())
        if unknown := self.records - set(_RECORDS):
            raise ValueError(f"records: {sorted(unknown)}, where {', '.join(_RECORDS)} can be recorded")
        self.contract = check_contract(_with_basis(contract, evidence))
        self.rank = values.count("rank", rank)
        if self.rank >= self.contract["world_size"]:
            raise Refused(f"rank: {rank}, where world_size is {self.contract['world_size']}")
        self._journal = Journal(path, self.rank, self.contract, append)
        #: Events not yet written, in order: (name, fields).
        self._pending: list[tuple[str, dict[str, Any]]] = []
        #: How far the file went when it was opened.
        self._earlier = position(self._journal.earlier, self.contract)
        #: Index of the window that the next backward belongs to.
        self._window = self._earlier.window or 0
        #: Backwards recorded on this rank; names microbatches.
        self._microbatches = self._earlier.microbatches
        #: The open window's written backwards: (id, valid targets, loss sum or None).
        self._written: list[tuple[str, int, Optional[float]]] = []
        #: How many backwards the open window has.
        self._backwards = 0
        self._steps = 0
        self._held = False
        self._must_restore = bool(self._journal.earlier)
        self._process = os.getpid()
        self.watch = Watch(self)
        atexit.register(self.close)

    # ---- what happened -------------------------------------------------------------------------------------------

    @property
    def current_window(self) -> int:
        """The window that the next backward belongs to."""
        return self._window

    @property
    def last_window(self) -> int:
        """The last window that was begun."""
        return self._window if self._backwards or self._window == 0 else self._window - 1

    def begin_at(self, window: int) -> None:
        """For loops that know how many windows their saved state has: records :meth:`restore` where this process began
        from one. Every window counts as an update, a skipped one included."""
        if self._must_restore or (window > 0 and not self._microbatches):
            self.restore(window=window, applied_updates=window)

    @contextlib.contextmanager
    def window(self) -> Iterator["Recorder"]:
        """One update: its microbatches, step, scheduler and zeroing; written when it ends.

        Raises:
            RecorderError: the window was begun and neither stepped, carried nor dropped.
        """
        if self._held:
            raise RecorderError("a window inside a window")
        self._held = True
        begun_at = self._steps
        try:
            yield self
            if self._backwards and self._steps == begun_at:
                raise RecorderError(
                    f"window {self._window} ended without an optimizer step: attach the optimizer, or call "
                    "optimizer_step(), carry() or drop()"
                )
        finally:
            self._held = False
            self.flush()

    def backward(
        self,
        loss: Any,
        *,
        valid_targets: Any,
        loss_sum: Any = None,
        divisor: Any = None,
        retain_graph: Optional[bool] = None,
        **described: Any,
    ) -> None:
        """Runs ``loss.backward()``, scaled by the attached scaler if there is one, and records the microbatch.

        Args:
            loss: the scalar to differentiate, before loss scaling.
            valid_targets: labels that took part, an int or a 0-dimensional tensor.
            loss_sum: their summed loss in nats, a number or a 0-dimensional tensor.
            divisor: instead of ``loss_sum``: what the summed loss was divided by to give ``loss``.
            retain_graph: as for ``Tensor.backward``.
            described: further fields of the ``backward`` event: ``auxiliary_loss``, ``sync``, ``rows``, ``slots``,
                ``unshifted_targets``, ``gradient_sum``.
        """
        self.microbatch(valid_targets=valid_targets, loss_sum=loss_sum, divisor=divisor, **described)
        self.watch.run_backward(loss, retain_graph)

    def microbatch(
        self, *, valid_targets: Any, loss_sum: Any = None, divisor: Any = None, **described: Any
    ) -> None:
        """Describes the microbatch whose backward comes next, for loops that call ``backward`` themselves.

        The arguments are those of :meth:`backward`.
        """
        if (loss_sum is None) == (divisor is None):
            raise RecorderError("a microbatch has either loss_sum or the divisor that gives it")
        self.watch.described = {"valid_targets": valid_targets, "loss_sum": loss_sum, "divisor": divisor, **described}

    def zero_grad(self) -> None:
        """The gradients were cleared."""
        self.record("zero_grad")

    def rescale(self, factor: Any) -> None:
        """The gradients accumulated so far were multiplied by this factor."""
        self.record("rescale", factor=factor)

    def unscale(self, loss_scale: Any = None, nonfinite: Any = None) -> None:
        """The loss scale was divided out; whether a gradient was found nonfinite."""
        self.record("unscale", loss_scale=loss_scale, nonfinite=nonfinite)

    def clip(self, max_norm: float, norm: Any) -> None:
        """The gradients were clipped; ``norm`` is the global L2 norm before."""
        self.record("clip", max_norm=max_norm, norm=norm)

    def optimizer_step(self, applied: Any = True, learning_rate: Any = None, loss_scale: Any = None) -> None:
        """The optimizer was called, and the window is over.

        Args:
            applied: whether the weights moved; a bool, or deferred text ``applied`` or ``skipped``.
            learning_rate: used by this step.
            loss_scale: S, if the step divided it out itself.
        """
        outcome = applied if isinstance(applied, (str, Deferred)) else "applied" if applied else "skipped"
        self.record(
            "optimizer_step",
            window=self.last_window,
            outcome=outcome,
            learning_rate=learning_rate,
            loss_scale=loss_scale,
        )
        self._steps += 1
        self._end_window()
        if "parameters" in self.records and hasattr(self.evidence, "values"):
            self.record("parameters", values=self.evidence.values())
        if not self._held:
            self.flush()

    def scaler_update(self, loss_scale: Any) -> None:
        """The loss scale from now on."""
        self.record("scaler_update", loss_scale=loss_scale)

    def scheduler_step(self, learning_rate: Any) -> None:
        """The learning rate from now on."""
        self.record("scheduler_step", learning_rate=learning_rate)

    def logged(self, window: Optional[int] = None, **claims: Any) -> None:
        """What the run itself claims about a window, the last one begun by default.

        Claims: ``loss``, ``denominator``, ``grad_norm``, ``gradient``; ``decimals`` they were rounded to; ``windows``
        over which ``loss`` is an unweighted mean. A claim that is not finite is left out.
        """
        self.record("logged", window=self.last_window if window is None else window, **claims)

    def checkpoint(self, update: int) -> None:
        """A saved state, labelled with the number of applied updates. Everything up to it is written at once, and is on
        the disk when this returns."""
        self.record("checkpoint", update=update)
        self.flush()
        if os.getpid() == self._process:
            self._journal.sync()

    def evaluation(self, update: int) -> None:
        """An evaluated state, labelled with the number of applied updates."""
        self.record("evaluation", update=update)

    def epoch_end(self, microbatches: Optional[int] = None) -> None:
        """An epoch ended, in which the data offered this rank so many microbatches."""
        self.record("epoch_end", microbatches=microbatches)

    def drop(self) -> None:
        """The open window was thrown away: its gradients are cleared and never used."""
        taken = self._taken()
        self.record(
            "drop",
            window=self._window,
            microbatches=[name for name, _, _ in taken],
            valid_targets=sum(targets for _, targets, _ in taken),
        )
        self._steps += 1
        self._end_window()
        self.flush()

    def carry(self, random_state: Optional[str] = None) -> None:
        """The stream ended and the open window is kept for the next run.

        Raises:
            Refused: a microbatch of it is not finite, so that it has no total.
        """
        taken = self._taken()
        sums = [loss_sum for _, _, loss_sum in taken]
        if None in sums:
            raise Refused("carry.loss_sum: a microbatch of the window is nonfinite")
        self.record(
            "carry",
            window=self._window,
            microbatches=[name for name, _, _ in taken],
            valid_targets=sum(targets for _, targets, _ in taken),
            loss_sum=math.fsum(total for total in sums if total is not None),
            backwards=len(taken),
            random_state=random_state,
        )
        self._steps += 1
        self._end_window()
        self.flush()

    def restore(self, window: int, applied_updates: int, **state: Any) -> None:
        """Training went back to a saved state; ``window`` comes next.

        ``state``: ``loss_scale``, ``growth_tracker``, ``hysteresis_left``, ``growth_delay_pending``,
        ``learning_rate``, as they were saved.

        Raises:
            RecorderError: the file lacks something that the saved state has, so that a right run would look wrong.
        """
        if self._window - window > limits.RESTORED_WINDOWS:
            raise Refused(
                f"restore.window: {self._window - window} windows back, beyond the limit of {limits.RESTORED_WINDOWS}"
            )
        here = Position(self._window if self._microbatches else None)
        demand_reached(window, self._earlier if self._must_restore else here)
        self._must_restore = False
        self.record("restore", window=window, applied_updates=applied_updates, **state)
        self._end_window()
        self._window = window
        self.flush()

    # ---- ways in -------------------------------------------------------------------------------------------------

    def attach(self, optimizer: Any, scheduler: Any = None, scaler: Any = None, model: Any = None) -> "Recorder":
        """Observes backward, clipping, step, unscale, scaler update, scheduler and zeroing from now on.

        Args:
            optimizer: ``torch.optim.Optimizer``, or a wrapper that has it as ``.optimizer``.
            scheduler: anything with ``step`` and a learning rate in the optimizer; or its wrapper.
            scaler: ``torch.amp.GradScaler``.
            model: the module that the loop calls; a DistributedDataParallel tells when it syncs.
        """
        self.watch.attach(optimizer, scheduler, scaler, model)
        return self

    def describe_forwards(self, model: Any, **options: Any) -> "Recorder":
        """Describes each microbatch from a model's forward; see :class:`~accumulation_receipt.forward.Forward`."""
        self.watch.add_forward(Forward(self, model, **options))
        return self

    def attach_trainer(self, trainer: Any, **options: Any) -> "Recorder":
        """Observes a Transformers ``Trainer``; see :func:`~accumulation_receipt.frameworks.transformers.attach`."""
        from .frameworks import transformers

        transformers.attach(self, trainer, **options)
        return self

    def attach_accelerator(
        self, accelerator: Any, model: Any, optimizer: Any, scheduler: Any = None, **options: Any
    ) -> "Recorder":
        """Observes a loop with Accelerate; see :func:`~accumulation_receipt.frameworks.accelerate.attach`."""
        from .frameworks import accelerate

        accelerate.attach(self, accelerator, model, optimizer, scheduler, **options)
        return self

    def lightning_callback(self, **options: Any) -> Any:
        """A Lightning callback; see :func:`~accumulation_receipt.frameworks.lightning.callback`."""
        from .frameworks import lightning

        return lightning.callback(self, **options)

    def detach(self) -> None:
        """Stops observing; every patched method is as it was."""
        self.watch.detach()

    def unobserved(self) -> "contextlib.AbstractContextManager[None]":
        """For backwards, clips and zeroings inside that belong to something else, such as a probe of the gradient."""
        return self.watch.suspended()

    # ---- the file ------------------------------------------------------------------------------------------------

    def record(self, event: str, **fields: Any) -> None:
        """Notes an event; it is written with its window, or at once where none is open.

        Raises:
            Refused: what is known already is refused by the wire format.
        """
        self._note(event, fields)
        if not self._held and not self._backwards:
            self.flush()

    def _note(self, event: str, fields: Mapping[str, Any]) -> None:
        if os.getpid() != self._process:
            return  # A forked data-loading worker holds a copy of this recorder.
        if not self._journal.is_open:
            raise RecorderError(f"{event}: the recorder of {self._journal.path} is closed")
        if self._must_restore:
            raise RecorderError("this file goes on after a restart: call restore() with the saved state first")
        kept = {name: later(_shaped(event, name, value)) for name, value in fields.items() if value is not None}
        if not any(isinstance(value, Deferred) for value in kept.values()):
            seal(event, kept)
        self._pending.append((event, kept))

    def record_backward(self, **fields: Any) -> None:
        """Notes a backward of the open window; its id is ``r<rank>-m<count>``.

        Args:
            fields: those of the ``backward`` event, but for ``window`` and ``microbatch``, which the recorder counts.
        """
        if given := {"window", "microbatch"} & fields.keys():
            raise RecorderError(f"{', '.join(sorted(given))}: the recorder counts windows and names microbatches itself")
        if self._backwards >= limits.MICROBATCHES_OF_A_WINDOW:
            raise Refused(f"window {self._window}: beyond the limit of {limits.MICROBATCHES_OF_A_WINDOW} microbatches")
        needs_sync = self.contract["world_size"] > 1 and "sync" not in self.contract.get("unobserved", ())
        if needs_sync and fields.get("sync") is None:
            raise RecorderError(
                "with several ranks each backward says whether it synchronised: attach the DistributedDataParallel as "
                "model, give sync=, or declare sync in the contract's unobserved"
            )
        name = f"r{self.rank}-m{self._microbatches}"
        self._note("backward", {"window": self._window, "microbatch": name, **fields})
        self._microbatches += 1
        self._backwards += 1

    def flush(self) -> None:
        """Reads what is still on a device and writes all events noted so far, in one piece."""
        pending, self._pending = self._pending, []
        if not pending or os.getpid() != self._process:
            return
        read(value for _, fields in pending for value in fields.values() if isinstance(value, Deferred))
        lines = []
        try:
            for event, fields in pending:
                sealed = seal(event, fields)
                if sealed is None:
                    continue
                lines.append(line(event, sealed))
                if event == "backward" and sealed["window"] == self._window:
                    self._written.append((sealed["microbatch"], sealed["valid_targets"], sealed.get("loss_sum")))
        finally:
            # What stands before something refused did happen.
            if lines:
                self._journal.append(lines)

    def close(self) -> None:
        """Writes what is left and closes the file; a second call does nothing."""
        atexit.unregister(self.close)
        self.detach()
        try:
            self.flush()
        finally:
            self._journal.close()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # ---- windows -------------------------------------------------------------------------------------------------

    def _end_window(self) -> None:
        if self._backwards:
            self._window += 1
        self._backwards = 0
        self._written = []

    def _taken(self) -> list[tuple[str, int, Optional[float]]]:
        if not self._backwards:
            raise RecorderError("no window is open")
        self.flush()
        return list(self._written)


def _shaped(event: str, name: str, value: Any) -> Any:
    """A tensor as a scalar, unless the field is a vector: losses and loss scales may come as [1]."""
    if not hasattr(value, "detach") or name in VECTORS:
        return value
    if value.numel() != 1:
        raise Refused(f"{event}.{name}: a tensor of {value.numel()} elements, where a scalar is needed")
    return value.reshape(())


def _with_basis(contract: Mapping[str, Any], evidence: Optional[Evidence]) -> Mapping[str, Any]:
    """The contract with the basis of the evidence; refused where it declares another."""
    if evidence is None:
        return contract
    declared = contract.get("gradient_basis", evidence.basis)
    if declared != evidence.basis:
        raise Refused(f"contract.gradient_basis: {declared}, but the evidence is in {evidence.basis}")
    return {**contract, "gradient_basis": dict(evidence.basis)}
