"""Lightning: a callback.

Lightning runs forward and backward inside ``optimizer.step(closure)``, and divides the loss by
``accumulate_grad_batches`` before backward, also in a short window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from ..deferred import product
from ..forward import demand_source
from ..refusal import RecorderError
from ..targets import count_targets

if TYPE_CHECKING:
    from ..recorder import Recorder


def callback(
    recorder: "Recorder",
    *,
    module: Any = None,
    labels_of: Callable[[Any], Any] = lambda batch: batch["labels"],
    divisor_of: Optional[Callable[[Any], Any]] = None,
    shift: bool = True,
    ignore_index: int = -100,
) -> Any:
    """A callback for ``Trainer(callbacks=[...])``, one optimizer, automatic or manual optimisation.

    Args:
        recorder: takes the events.
        module: where given, its forward is called with ``labels`` and returns ``logits``, from which numerators are
            recomputed.
        labels_of: takes the labels [rows, T] out of a batch.
        divisor_of: instead of ``module``: what ``training_step`` divided this batch's summed loss by, such as
            ``lambda batch: count_targets(batch["labels"])`` where it returns a mean. The numerator is then its loss
            times that (``scaled-loss``). Nothing is assumed: a wrong divisor would make a right run look wrong.
        shift: whether position t is predicted at t - 1.
        ignore_index: labels that take no part.
    """
    if (module is None) == (divisor_of is None):
        raise RecorderError("give either module, to recompute numerators, or divisor_of, to undo the loss's divisor")
    demand_source(recorder.contract, "scaled-loss" if module is None else "recomputed")
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class RecorderCallback(Callback):  # type: ignore[misc]
        """Tells the recorder where training is."""

        def __init__(self) -> None:
            self._batch: Any = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            if len(trainer.optimizers) != 1:
                raise RecorderError(f"{len(trainer.optimizers)} optimizers, where one recorder observes one")
            # One window for each global step, a skipped one included.
            recorder.begin_at(trainer.global_step)
            schedulers = [config.scheduler for config in trainer.lr_scheduler_configs]
            recorder.attach(
                trainer.optimizers[0],
                schedulers[0] if schedulers else None,
                getattr(trainer.precision_plugin, "scaler", None),
                trainer.strategy.model,
            )
            if module is not None:
                recorder.describe_forwards(module, shift=shift, ignore_index=ignore_index)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            self._batch = batch

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
            if divisor_of is None:
                return
            labels = labels_of(self._batch)
            targets = count_targets(labels, ignore_index, shift)
            # Automatic optimisation has divided the loss already.
            steps = trainer.accumulate_grad_batches if pl_module.automatic_optimization else 1
            recorder.microbatch(
                valid_targets=targets,
                loss_sum=product(loss, divisor_of(self._batch) * steps),
                unshifted_targets=count_targets(labels, ignore_index, shift=False),
                rows=labels.shape[0],
                slots=labels.numel(),
            )

        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            offered = trainer.num_training_batches
            asked_to_stop = trainer.max_steps > 0 and trainer.global_step >= trainer.max_steps
            recorder.epoch_end(None if asked_to_stop or offered == float("inf") else int(offered))

        def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
            recorder.checkpoint(trainer.global_step)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            recorder.detach()
            recorder.flush()

    return RecorderCallback()
