"""Transformers' ``Trainer``.

Its callbacks see neither the loss nor the targets, so ``training_step`` and ``compute_loss`` are observed too; the
backward is seen where it runs. Targets are counted here, from the labels, and not taken from the Trainer's own count,
which some releases got wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ..deferred import Deferred, later, product
from ..forward import Forward
from ..refusal import RecorderError
from ..watch.patches import Patches

if TYPE_CHECKING:
    from ..recorder import Recorder

#: Decimals to which ``Trainer`` rounds a logged loss up to 4.57.
_LOGGED_DECIMALS = 4


def attach(
    recorder: "Recorder",
    trainer: Any,
    *,
    numerator: Optional[str] = None,
    shift: Optional[bool] = None,
    ignore_index: int = -100,
    divides_by: Optional[str] = None,
) -> None:
    """Observes a Trainer from its next ``train()`` to the end of it.

    Args:
        recorder: takes the events.
        trainer: a ``transformers.Trainer``, of version 4.41 or later.
        numerator: ``scaled-loss`` or ``recomputed``; the contract's ``numerator_source`` by default, else
            ``scaled-loss``. Recompute where a model ignores ``num_items_in_batch`` (classifiers in many releases).
        shift: whether the model predicts position t at t - 1; by default read off the model's class.
        ignore_index: labels that take no part.
        divides_by: what a ``compute_loss_func`` of yours divides its sum by: ``window`` (``num_items_in_batch``) or
            ``microbatch`` (its own targets). Nothing is assumed of it: a wrong divisor would hide a fault.
    """
    if divides_by not in (None, "window", "microbatch"):
        raise ValueError(f"divides_by: {divides_by!r}, where window or microbatch is needed")
    if getattr(trainer, "compute_loss_func", None) is not None and divides_by is None:
        raise RecorderError('the Trainer has a compute_loss_func: say divides_by="window" or "microbatch"')
    from transformers import TrainerCallback

    source = numerator or recorder.contract.get("numerator_source", "scaled-loss")
    shifted = _shifts(trainer.model) if shift is None else shift
    step = _Step(recorder, trainer, source, shifted, ignore_index, divides_by or "microbatch")

    class RecorderCallback(TrainerCallback):
        """Tells the recorder where training is."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # One window for each global step, a skipped one included.
            recorder.begin_at(state.global_step)
            step.begin(kwargs["optimizer"], kwargs.get("lr_scheduler"))

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            step.window_ended()

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            step.logged(logs or {}, state.global_step)

        def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # Where the user asked for so many steps, the rest of the epoch was not to be trained on.
            stopped = control.should_training_stop or state.global_step >= state.max_steps
            asked_for = args.max_steps > 0 or state.global_step < state.max_steps
            recorder.epoch_end(None if stopped and asked_for else _length(kwargs.get("train_dataloader")))

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            recorder.checkpoint(state.global_step)

        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            recorder.evaluation(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            step.end()

    trainer.add_callback(RecorderCallback())


class _Step:
    """The observed training step."""

    def __init__(
        self, recorder: "Recorder", trainer: Any, source: str, shift: bool, ignore_index: int, divides_by: str
    ) -> None:
        self._recorder = recorder
        self._trainer = trainer
        #: What a loss that the model did not compute is divided by; label smoothing averages over the microbatch.
        self._divides_by = divides_by
        self._options = {"numerator": source, "shift": shift, "ignore_index": ignore_index}
        self._forward: Optional[Forward] = None
        self._patches = Patches()
        self._inside = False
        #: What the Trainer said it divides by, for each microbatch of the window.
        self._divisors: list[Any] = []
        self._logged_at = 0

    def begin(self, optimizer: Any, scheduler: Any) -> None:
        recorder, trainer = self._recorder, self._trainer
        recorder.attach(optimizer, scheduler, trainer.accelerator.scaler, trainer.model_wrapped)
        self._forward = Forward(recorder, trainer.model, wanted=lambda: self._inside, **self._options)
        recorder.watch.add_forward(self._forward)
        self._patches = Patches()
        self._patches.method(trainer, "training_step", self._training_step)
        self._patches.method(trainer, "compute_loss", self._compute_loss)
        self._logged_at = trainer.state.global_step

    def end(self) -> None:
        self._patches.undo()
        self._recorder.detach()
        self._recorder.flush()

    def window_ended(self) -> None:
        """Notes the count that the whole window was divided by, where there was one."""
        divisors, self._divisors = self._divisors, []
        if divisors and all(_same(divisor, divisors[0]) for divisor in divisors):
            self._recorder.logged(denominator=later(divisors[0], _whole))

    def logged(self, logs: dict[str, Any], global_step: int) -> None:
        """Notes a logged loss: the mean over the windows since the last one."""
        if "loss" not in logs or global_step == self._logged_at:
            return
        loss = float(logs["loss"])
        claims: dict[str, Any] = {"loss": loss}
        if loss == round(loss, _LOGGED_DECIMALS):
            claims["decimals"] = _LOGGED_DECIMALS
        if global_step - self._logged_at > 1:
            claims["windows"] = global_step - self._logged_at
        self._logged_at = global_step
        self._recorder.logged(**claims)

    def _training_step(self, original: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        assert self._forward is not None, "bug: observed before training began"
        self._forward.labels = inputs.get("labels")
        self._inside = True
        try:
            return original(model, inputs, *args, **kwargs)
        finally:
            self._inside = False

    def _compute_loss(self, original: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(model, inputs, *args, **kwargs)
        if self._inside:
            self._describe(result, kwargs.get("num_items_in_batch"))
        return result

    def _describe(self, result: Any, divisor: Any) -> None:
        """Where the model's own output had no loss (label smoothing, a loss function of the user's), the Trainer's
        loss times its divisor is the numerator."""
        forward, recorder = self._forward, self._recorder
        assert forward is not None, "bug: observed before training began"
        if recorder.watch.described is None:
            if forward.labels is None:
                raise RecorderError("the inputs have no labels, so that targets cannot be counted")
            fields = forward.described(forward.labels)
            loss = result[0] if isinstance(result, tuple) else result
            forward.divisor = divisor if self._divides_by == "window" else None
            used = fields["valid_targets"] if forward.divisor is None else forward.divisor
            recorder.microbatch(loss_sum=product(loss, used), **fields)
        self._divisors.append(forward.divisor)


def _same(one: Any, other: Any) -> bool:
    """Whether two divisors are known to be the same without waiting for a device."""
    if one is None or other is None:
        return False
    if one is other:
        return True
    left, right = later(one), later(other)
    return not isinstance(left, Deferred) and not isinstance(right, Deferred) and left == right


def _whole(count: Any) -> Any:
    """A count as an integer; some releases keep it as a float."""
    return int(count) if count == int(count) else count


def _shifts(model: Any) -> bool:
    """Whether labels are shifted inside the loss: for decoders that predict the next token."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    name = type(base).__name__
    if getattr(base.config, "is_encoder_decoder", False) or name.endswith(("MaskedLM", "Classification")):
        return False
    if name.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
        return True
    raise RecorderError(f"whether {name} shifts its labels is not known: say shift=True or shift=False")


def _length(loader: Any) -> Optional[int]:
    try:
        return len(loader)
    except TypeError:
        return None
