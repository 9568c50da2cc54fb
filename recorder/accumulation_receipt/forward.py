"""Describing microbatches from a model's own forward: labels from its arguments, numerators from its output."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

from .deferred import product
from .numerators import loss_sum_from_logits
from .refusal import RecorderError
from .targets import count_targets

if TYPE_CHECKING:
    from .recorder import Recorder

#: The two sources of numerators (wire format, ``numerator_source``).
SOURCES = ("recomputed", "scaled-loss")

#: Relative difference up to which two sums of one loss are the same: rounding of half precision, not one target more.
_SAME_SUM = 1e-3


def demand_source(contract: Mapping[str, Any], source: str) -> None:
    """Refuses numerators from elsewhere than the contract says, since the receipt repeats what it says.

    Raises:
        RecorderError: with what to do.
    """
    declared = contract.get("numerator_source", source)
    if declared != source:
        raise RecorderError(
            f"the contract's numerator_source is {declared}, but numerators would be {source}: say "
            f'contract_for(..., numerator_source="{source}")'
        )


class Forward:
    """Hooks on one module. Each forward with gradients describes the microbatch whose backward comes next.

    Args:
        recorder: is told.
        model: called with ``labels`` as a keyword, and returns ``logits`` and perhaps ``loss`` (attributes or keys).
        numerator: ``recomputed`` from the logits, or ``scaled-loss``: the output's ``loss`` times what it was divided
            by, which is ``num_items_in_batch`` where the model was given one, else the microbatch's own targets. That
            is an assumption, and some models ignore what they are given, so it is checked against the logits in the
            first window, where there are any; they are read there and then.
        shift: whether position t is predicted at t - 1.
        ignore_index: labels that take no part.
        wanted: whether a forward is a microbatch's; by default whenever gradients are enabled.
    """

    def __init__(
        self,
        recorder: "Recorder",
        model: Any,
        *,
        numerator: str = "recomputed",
        shift: bool = True,
        ignore_index: int = -100,
        wanted: Optional[Callable[[], bool]] = None,
    ) -> None:
        if numerator not in SOURCES:
            raise ValueError(f"numerator: {numerator!r}, where one of {', '.join(SOURCES)} is needed")
        demand_source(recorder.contract, numerator)
        self._recorder = recorder
        self._numerator = numerator
        self._shift = shift
        self._ignore_index = ignore_index
        self._wanted = wanted
        #: The window in which the assumption of ``scaled-loss`` is checked.
        self._checked_in = recorder.current_window
        #: Labels that the model itself is not given; they stand in for its own.
        self.labels: Any = None
        #: What the last observed forward was told to divide by.
        self.divisor: Any = None
        self._handle = model.register_forward_hook(self._after, with_kwargs=True)

    def remove(self) -> None:
        """Takes the hook away."""
        self._handle.remove()

    def described(self, labels: Any) -> dict[str, Any]:
        """Counts of a microbatch's labels."""
        return {
            "valid_targets": count_targets(labels, self._ignore_index, self._shift),
            "unshifted_targets": count_targets(labels, self._ignore_index, shift=False),
            "rows": labels.shape[0],
            "slots": labels.numel(),
        }

    def _after(self, module: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        import torch

        if not torch.is_grad_enabled() or self._recorder.watch.is_suspended:
            return
        if self._wanted is not None and not self._wanted():
            return
        labels = kwargs.get("labels")
        labels = self.labels if labels is None else labels
        if labels is None:
            return
        self.divisor = kwargs.get("num_items_in_batch")
        fields = self.described(labels)
        loss_sum = self._loss_sum(output, labels, fields["valid_targets"])
        if loss_sum is not None:
            self._recorder.microbatch(loss_sum=loss_sum, **fields)

    def _loss_sum(self, output: Any, labels: Any, valid_targets: Any) -> Any:
        """None where the output has neither; then the loop describes the microbatch itself."""
        logits = _part(output, "logits")
        if self._numerator == "scaled-loss":
            loss = _part(output, "loss")
            if loss is None:
                return None
            loss_sum = product(loss, valid_targets if self.divisor is None else self.divisor)
            if logits is not None and self._recorder.current_window == self._checked_in:
                self._check(loss_sum, logits, labels)
            return loss_sum
        if logits is None:
            raise RecorderError("the model returns no logits: describe the microbatch with recorder.microbatch(...)")
        return self._from_logits(logits, labels)

    def _check(self, loss_sum: Any, logits: Any, labels: Any) -> None:
        """Whether the loss times its supposed divisor is the sum over the targets.

        Raises:
            RecorderError: it is not, so that a wrong run could look right, or a right one wrong.
        """
        assumed, recomputed = float(loss_sum), float(self._from_logits(logits, labels))
        finite = math.isfinite(assumed) and math.isfinite(recomputed)
        if finite and not math.isclose(assumed, recomputed, rel_tol=_SAME_SUM, abs_tol=_SAME_SUM):
            divisor = "its targets" if self.divisor is None else "num_items_in_batch"
            raise RecorderError(
                f"the model's loss is not its summed loss divided by {divisor}: that would be {assumed:.6g}, but the "
                f"logits give {recomputed:.6g}. It may ignore the count, shift otherwise, or have further terms; say "
                'numerator_source="recomputed" in the contract, or numerator="recomputed" where it says nothing'
            )

    def _from_logits(self, logits: Any, labels: Any) -> Any:
        if logits.dim() == labels.dim():
            raise RecorderError("labels are numbers, not classes: describe the microbatch with recorder.microbatch(...)")
        return loss_sum_from_logits(logits, labels, self._ignore_index, self._shift)


def _part(output: Any, name: str) -> Any:
    return output.get(name) if hasattr(output, "get") else getattr(output, name, None)
