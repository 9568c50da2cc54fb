"""What is observed of Trainer, Lightning and Accelerate, with stand-ins that call what these call, in that order.

The packages themselves are run by the examples; what that recorded is in ``fixtures/recorder``.
"""

from __future__ import annotations

import types
from typing import Any, Optional
from unittest import mock

from accumulation_receipt import Recorder, RecorderError, contract_for

from .fakes import Labels, Module, Optimizer, Scheduler, Tensor, module, pretended
from .support import InFolder, names, verify

LABELS = [Labels([5, 6, 7], [5, -100, 8]), Labels([4, 5, 6], [-100, -100, 3])]
TARGETS = [3, 3]
UNSHIFTED = [5, 4]


class LlamaForCausalLM(Module):
    """Answers with a loss, unless it is given no labels."""

    config = types.SimpleNamespace(is_encoder_decoder=False)

    def forward(self, labels: Any = None, num_items_in_batch: Any = None) -> dict[str, Any]:
        return {} if labels is None else {"loss": Tensor(3.0 / (num_items_in_batch or 3))}


class TrainerCallback:
    """As Transformers has it."""


class Trainer:
    """Calls what Transformers' Trainer calls."""

    def __init__(self, model: Module, windows: int, *, told: Optional[int] = 6, given_labels: bool = True) -> None:
        self.model = self.model_wrapped = model
        self.accelerator = types.SimpleNamespace(scaler=None)
        self.args = types.SimpleNamespace(max_steps=-1)
        self.state = types.SimpleNamespace(global_step=0, max_steps=windows)
        self.control = types.SimpleNamespace(should_training_stop=False)
        self.told, self.given_labels = told, given_labels
        self.inputs = [{"labels": labels} for labels in LABELS]
        self.logs: dict[str, Any] = {"loss": 1.0}
        self.callbacks: list[Any] = []

    def add_callback(self, callback: Any) -> None:
        self.callbacks.append(callback)

    def call(self, name: str, **given: Any) -> None:
        for callback in self.callbacks:
            if hasattr(callback, name):
                getattr(callback, name)(self.args, self.state, self.control, **given)

    def compute_loss(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        output = model(labels=inputs["labels"] if self.given_labels else None, num_items_in_batch=num_items_in_batch)
        return output.get("loss", Tensor(3.0 / (num_items_in_batch or 3)))

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> None:
        self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch).backward()

    def train(self, resumed_at: int = 0) -> None:
        optimizer = Optimizer(*self.model.parameters())
        scheduler = Scheduler(optimizer)
        self.state.global_step = resumed_at
        self.call("on_train_begin", optimizer=optimizer, lr_scheduler=scheduler)
        for _ in range(self.state.global_step, self.state.max_steps):
            for inputs in self.inputs:
                self.training_step(self.model, inputs, self.told)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            self.state.global_step += 1
            self.call("on_step_end")
            self.call("on_log", logs=self.logs)
            self.compute_loss(self.model, self.inputs[0])  # An evaluation is no microbatch.
            self.call("on_evaluate")
            self.call("on_save")
        self.call("on_epoch_end", train_dataloader=self.inputs)
        self.call("on_train_end")


class Pretended(InFolder):
    """Has stand-ins for the frameworks, and reads fields."""

    def setUp(self) -> None:
        super().setUp()
        lightning = module("lightning.pytorch", Callback=type("Callback", (), {}))
        frameworks = pretended(
            module("transformers", TrainerCallback=TrainerCallback), module("lightning", pytorch=lightning), lightning
        )
        frameworks.__enter__()
        self.addCleanup(frameworks.__exit__, None, None, None)

    def fields(self, event: str) -> list[dict[str, Any]]:
        return [found[event] for found in self.events() if isinstance(found, dict) and event in found]


class Trainers(Pretended):
    def trained(self, trainer: Trainer, resumed_at: int = 0, append: bool = False, **options: Any) -> None:
        contract = contract_for("transformers", "5.24.0", accumulation_steps=2, clip=None)
        with Recorder(self.path, contract, append=append) as recorder:
            recorder.attach_trainer(trainer, **options)
            trainer.train(resumed_at)

    def test_a_window_in_order(self) -> None:
        self.trained(Trainer(LlamaForCausalLM(Tensor(1.0)), 2))
        window = ["backward", "backward", "optimizer_step", "scheduler_step", "zero_grad", "logged", "logged"]
        self.assertEqual(names(self.events()), [*window, "evaluation", "checkpoint"] * 2 + ["epoch_end"])
        backward = self.fields("backward")[1]
        del backward["microbatch"]
        expected = {"window": 0, "valid_targets": 3, "unshifted_targets": 4, "rows": 2, "slots": 6}
        self.assertEqual(backward, {**expected, "backward_loss": 0.5, "loss_sum": 3.0})
        self.assertEqual(
            self.fields("logged"),
            [claim for at in (0, 1) for claim in ({"window": at, "denominator": 6}, {"window": at, "loss": 1.0, "decimals": 4})],
        )
        self.assertEqual(self.fields("checkpoint"), [{"update": 1}, {"update": 2}])
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)

    def test_nothing_is_left(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1)
        before = Trainer.training_step, Trainer.compute_loss
        self.trained(trainer)
        self.assertEqual((Trainer.training_step, Trainer.compute_loss), before)
        self.assertEqual((trainer.model.after, trainer.model.before), ([], []))

    def test_a_loss_of_the_trainers_own_times_its_divisor(self) -> None:
        """Label smoothing takes the labels from the model; the loss is the Trainer's, and a mean over the microbatch."""
        for told, divides_by, loss, total in [
            (None, None, 1.0, 3.0),
            (6, None, 0.5, 1.5),
            (6, "microbatch", 0.5, 1.5),
            (6, "window", 0.5, 3.0),
        ]:
            with self.subTest(told=told, divides_by=divides_by):
                self.path.unlink(missing_ok=True)
                trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1, told=told, given_labels=False)
                self.trained(trainer, divides_by=divides_by)
                for backward, unshifted in zip(self.fields("backward"), UNSHIFTED):
                    self.assertEqual((backward["backward_loss"], backward["loss_sum"]), (loss, total))
                    self.assertEqual((backward["valid_targets"], backward["unshifted_targets"]), (3, unshifted))
                denominators = [each["denominator"] for each in self.fields("logged") if "denominator" in each]
                self.assertEqual(denominators, [6] if divides_by == "window" else [])

    def test_labels_that_the_model_is_not_given(self) -> None:
        """Under label smoothing the numerator can still be taken from the logits."""
        model = LlamaForCausalLM(Tensor(1.0))
        model.forward = lambda **given: {"logits": mock.Mock(dim=lambda: 3)}  # type: ignore[method-assign]
        contract = contract_for("transformers", "5.24.0", accumulation_steps=2, clip=None, numerator_source="recomputed")
        asked: list[Any] = []

        def summed(logits: Any, labels: Any, *rest: Any) -> float:
            asked.append((labels, *rest))
            return 3.0

        with mock.patch("accumulation_receipt.forward.loss_sum_from_logits", summed):
            with Recorder(self.path, contract) as recorder:
                trainer = Trainer(model, 1, given_labels=False)
                recorder.attach_trainer(trainer)
                trainer.train()
        self.assertEqual(asked, [(labels, -100, True) for labels in LABELS])
        self.assertEqual([each["loss_sum"] for each in self.fields("backward")], [3.0, 3.0])

    def test_a_loss_beside_its_outputs(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1, given_labels=False)
        compute = Trainer.compute_loss
        trainer.compute_loss = lambda *given, **named: (compute(trainer, *given, **named), "outputs")
        trainer.training_step = lambda model, inputs, told: trainer.compute_loss(
            model, inputs, num_items_in_batch=told
        )[0].backward()
        self.trained(trainer, divides_by="window")
        self.assertEqual([each["loss_sum"] for each in self.fields("backward")], [3.0, 3.0])

    def test_a_window_of_two_divisors_has_none(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1)
        told = iter([6, 7])
        step = Trainer.training_step
        trainer.training_step = lambda model, inputs, given: step(trainer, model, inputs, next(told))
        self.trained(trainer)
        self.assertEqual([each for each in self.fields("logged") if "denominator" in each], [])

    def test_logged_losses_over_several_windows(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 3)
        trainer.logs = {"eval_loss": 1.0}
        on_log = iter([{"eval_loss": 1.0}, {"loss": 0.123456}, {"loss": 0.25}])
        call = Trainer.call
        trainer.call = lambda name, **given: call(trainer, name, **({"logs": next(on_log)} if name == "on_log" else given))
        self.trained(trainer)
        losses = [each for each in self.fields("logged") if "loss" in each]
        self.assertEqual(
            losses, [{"window": 1, "loss": 0.123456, "windows": 2}, {"window": 2, "loss": 0.25, "decimals": 4}]
        )

    def test_a_loss_that_is_logged_again_is_noted_once(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1)
        call = Trainer.call
        trainer.call = lambda name, **given: [call(trainer, name, **given) for _ in range(1 + (name == "on_log"))]
        self.trained(trainer)
        self.assertEqual(len([each for each in self.fields("logged") if "loss" in each]), 1)

    def test_an_epoch_that_the_user_cut_short_offered_no_count(self) -> None:
        for max_steps, stops, expected in [(-1, False, {"microbatches": 2}), (1, False, {}), (-1, True, {"microbatches": 2})]:
            with self.subTest(max_steps=max_steps, stops=stops):
                self.path.unlink(missing_ok=True)
                trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1)
                trainer.args.max_steps, trainer.control.should_training_stop = max_steps, stops
                self.trained(trainer)
                self.assertEqual(self.events()[-1], {"epoch_end": expected} if expected else "epoch_end")

    def test_a_resumed_trainer(self) -> None:
        self.trained(Trainer(LlamaForCausalLM(Tensor(1.0)), 2))
        self.trained(Trainer(LlamaForCausalLM(Tensor(1.0)), 3), resumed_at=1, append=True)
        self.assertEqual(self.fields("restore"), [{"window": 1, "applied_updates": 1}])
        self.assertEqual([each["window"] for each in self.fields("optimizer_step")], [0, 1, 1, 2])
        self.path.unlink()
        self.trained(Trainer(LlamaForCausalLM(Tensor(1.0)), 9), resumed_at=7)
        self.assertEqual([each for each in self.fields("logged") if "windows" in each], [])
        self.assertEqual(self.fields("restore"), [{"window": 7, "applied_updates": 7}])
        self.assertEqual(self.fields("checkpoint"), [{"update": 8}, {"update": 9}])

    def test_what_cannot_be_told_is_asked_for(self) -> None:
        trainer = Trainer(Module(Tensor(1.0)), 1)
        trainer.model.config = types.SimpleNamespace()  # type: ignore[attr-defined]
        with Recorder(self.path, contract_for("transformers", "5.24.0", accumulation_steps=2)) as recorder:
            with self.assertRaisesRegex(RecorderError, "shift=True or shift=False"):
                recorder.attach_trainer(trainer)
            with self.assertRaisesRegex(ValueError, "window or microbatch"):
                recorder.attach_trainer(trainer, divides_by="epoch")
            trainer.compute_loss_func = print  # type: ignore[attr-defined]
            with self.assertRaisesRegex(RecorderError, "divides_by"):
                recorder.attach_trainer(trainer)

    def test_the_source_is_the_contracts(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1)
        with self.assertRaisesRegex(RecorderError, 'numerator_source="recomputed"'):
            self.trained(trainer, numerator="recomputed")

    def test_inputs_without_labels(self) -> None:
        trainer = Trainer(LlamaForCausalLM(Tensor(1.0)), 1, given_labels=False)
        trainer.compute_loss = lambda *given, **named: Tensor(1.0)  # type: ignore[method-assign]
        trainer.inputs = [{}]
        with self.assertRaisesRegex(RecorderError, "no labels"):
            self.trained(trainer)


class Shifts(InFolder):
    def test_it_is_read_off_the_models_class(self) -> None:
        from accumulation_receipt.frameworks.transformers import _shifts

        def model(name: str, **config: Any) -> Any:
            return type(name, (), {"config": types.SimpleNamespace(**config)})()

        for name in ("LlamaForCausalLM", "GPT2LMHeadModel", "LlavaForConditionalGeneration"):
            self.assertTrue(_shifts(model(name)), name)
        for name in ("BertForMaskedLM", "LlamaForSequenceClassification", "BertForTokenClassification"):
            self.assertFalse(_shifts(model(name)), name)
        self.assertFalse(_shifts(model("T5ForConditionalGeneration", is_encoder_decoder=True)))
        adapted = type("PeftModel", (), {"get_base_model": lambda self: model("BertForMaskedLM")})()
        self.assertFalse(_shifts(adapted))


class Lightning(Pretended):
    def fitted(
        self, windows: int = 1, *, resumed_at: int = 0, automatic: bool = True, max_steps: int = -1, **options: Any
    ) -> None:
        contract = contract_for("lightning", "2.6.6", accumulation_steps=2, numerator_source="scaled-loss")
        optimizer = Optimizer(Tensor(1.0))
        trainer = types.SimpleNamespace(
            optimizers=[optimizer],
            lr_scheduler_configs=[types.SimpleNamespace(scheduler=Scheduler(optimizer))],
            precision_plugin=types.SimpleNamespace(),
            strategy=types.SimpleNamespace(model=Module()),
            accumulate_grad_batches=2,
            num_training_batches=2.0,
            max_steps=max_steps,
            global_step=resumed_at,
        )
        task = types.SimpleNamespace(automatic_optimization=automatic)
        with Recorder(self.path, contract, append=self.path.exists()) as recorder:
            callback = recorder.lightning_callback(**options)
            callback.on_train_start(trainer, task)
            for _ in range(windows):
                for labels in LABELS:
                    callback.on_train_batch_start(trainer, task, {"labels": labels}, 0)
                    loss = Tensor(0.5)
                    callback.on_before_backward(trainer, task, loss)
                    loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                trainer.global_step += 1
            callback.on_train_epoch_end(trainer, task)
            trainer.lr_scheduler_configs[0].scheduler.step()
            callback.on_save_checkpoint(trainer, task, {})
            callback.on_train_end(trainer, task)
            self.assertEqual(optimizer.hooks, [])

    def test_a_loss_times_its_divisor(self) -> None:
        for automatic, total in ((True, 3.0), (False, 1.5)):
            with self.subTest(automatic=automatic):
                self.path.unlink(missing_ok=True)
                self.fitted(automatic=automatic, divisor_of=lambda batch: 3)
                found = names(self.events())
                window = ["backward", "backward", "optimizer_step", "zero_grad"]
                self.assertEqual(found, [*window, "epoch_end", "scheduler_step", "checkpoint"])
                backward = self.fields("backward")[0]
                self.assertEqual((backward["loss_sum"], backward["backward_loss"]), (total, 0.5))
                self.assertEqual((backward["valid_targets"], backward["unshifted_targets"]), (3, 5))
                self.assertEqual((backward["rows"], backward["slots"]), (2, 6))
                self.assertEqual(self.fields("epoch_end"), [{"microbatches": 2}])

    def test_an_epoch_that_the_user_cut_short_offered_no_count(self) -> None:
        self.fitted(2, max_steps=2, divisor_of=lambda batch: 3)
        self.assertIn("epoch_end", self.events())

    def test_a_resumed_run(self) -> None:
        self.fitted(2, divisor_of=lambda batch: 3)
        self.fitted(2, resumed_at=2, divisor_of=lambda batch: 3)
        self.assertEqual(self.fields("restore"), [{"window": 2, "applied_updates": 2}])
        self.assertEqual(self.fields("checkpoint"), [{"update": 2}, {"update": 4}])

    def test_one_source_of_numerators(self) -> None:
        with Recorder(self.path, contract_for("lightning", "2.6.6", accumulation_steps=2)) as recorder:
            for options in ({}, {"module": Module(), "divisor_of": len}):
                with self.assertRaisesRegex(RecorderError, "either module"):
                    recorder.lightning_callback(**options)

    def test_the_source_is_the_contracts(self) -> None:
        for source, options in (("recomputed", {"divisor_of": len}), ("scaled-loss", {"module": Module()})):
            path = self.folder / f"{source}.jsonl"
            with Recorder(path, contract_for("lightning", accumulation_steps=2, numerator_source=source)) as recorder:
                with self.assertRaisesRegex(RecorderError, "numerator_source="):
                    recorder.lightning_callback(**options)


class Accelerate(Pretended):
    def test_the_objects_inside_are_observed(self) -> None:
        model = LlamaForCausalLM(Tensor(1.0))
        inner = Optimizer(*model.parameters())
        accelerator = types.SimpleNamespace(scaler=None, unwrap_model=lambda wrapped: wrapped.module)
        wrapped = types.SimpleNamespace(module=model)
        for forward in (True, False):
            self.path.unlink(missing_ok=True)
            with Recorder(self.path, contract_for("accelerate", "1.15.0", accumulation_steps=2)) as recorder:
                recorder.attach_accelerator(
                    accelerator,
                    wrapped,
                    types.SimpleNamespace(optimizer=inner),
                    types.SimpleNamespace(scheduler=Scheduler(inner)),
                    **({"numerator": "scaled-loss"} if forward else {"forward": False}),
                )
                output = model(labels=LABELS[0])
                if not forward:
                    recorder.microbatch(valid_targets=3, loss_sum=3.0)
                output["loss"].backward()
                inner.step()
            self.assertEqual(self.fields("backward")[0]["loss_sum"], 3.0)
            self.assertEqual(names(self.events()), ["backward", "optimizer_step"])
