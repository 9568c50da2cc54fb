"""What the hooks see, with a stand-in for PyTorch: each event once, in order, with the right numbers."""

from __future__ import annotations

import warnings
from typing import Any
from unittest import mock

from accumulation_receipt import Recorder, RecorderError, contract_for
from accumulation_receipt.deferred import product

from .fakes import TORCH, GradScaler, Module, Optimizer, Scheduler, Tensor, pretended
from .support import InFolder, names, verify


class Hooked(InFolder):
    def setUp(self) -> None:
        super().setUp()
        torch = pretended()
        torch.__enter__()
        self.addCleanup(torch.__exit__, None, None, None)
        self.weights = [Tensor(1.0), Tensor(2.0)]
        self.model = Module(*self.weights)
        self.optimizer = Optimizer(*self.weights)
        self.scheduler = Scheduler(self.optimizer)
        self.contract = contract_for("pytorch", accumulation_steps=2, clip={"max_norm": 1.0})
        Tensor.reads = 0

    def recorder(self, **attached: Any) -> Recorder:
        recorder = Recorder(self.path, self.contract)
        self.addCleanup(recorder.close)
        return recorder.attach(self.optimizer, **attached)

    def fields(self, event: str) -> list[dict[str, Any]]:
        return [found[event] for found in self.events() if isinstance(found, dict) and event in found]


class Backwards(Hooked):
    def test_a_window_in_order(self) -> None:
        recorder = self.recorder(scheduler=self.scheduler, model=self.model)
        for targets in (3, 6):
            recorder.backward(Tensor(0.5 * targets / 9), valid_targets=targets, loss_sum=Tensor(0.5 * targets))
        TORCH.nn.utils.clip_grad.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        recorder.close()
        self.assertEqual(
            self.events(),
            [
                {"backward": {"window": 0, "microbatch": f"r0-m{at}", "valid_targets": targets, "backward_loss": loss, "loss_sum": total}}
                for at, (targets, loss, total) in enumerate([(3, 1.5 / 9, 1.5), (6, 3.0 / 9, 3.0)])
            ]
            + [
                {"clip": {"max_norm": 1.0, "norm": 3.0}},
                {"optimizer_step": {"window": 0, "outcome": "applied", "learning_rate": 0.1}},
                {"scheduler_step": {"learning_rate": 0.05}},
                "zero_grad",
            ],
        )
        self.assertEqual(verify(self.path)[0], 0)

    def test_a_loop_that_calls_backward_itself(self) -> None:
        recorder = self.recorder()
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        Tensor(0.25).backward()
        with self.assertRaisesRegex(RecorderError, "nothing was said"):
            Tensor(0.25).backward()
        with recorder.unobserved():
            Tensor(0.25).backward()
        self.optimizer.step()
        self.assertEqual([each["backward_loss"] for each in self.fields("backward")], [0.25])

    def test_with_a_gradient_of_its_own_the_root_is_not_the_loss(self) -> None:
        recorder = self.recorder()
        for gradient, root in ((None, Tensor(0.25)), (Tensor(4.0), Tensor(0.25)), (None, Tensor([0.25, 0.5]))):
            recorder.microbatch(valid_targets=3, loss_sum=1.5)
            root.backward(gradient)
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        TORCH.autograd.backward([Tensor(0.25), Tensor(0.5)])
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        TORCH.autograd.backward([Tensor(0.5)])
        self.optimizer.step()
        self.assertEqual([each.get("backward_loss") for each in self.fields("backward")], [0.25, None, None, None, 0.5])

    def test_a_divisor_needs_the_loss(self) -> None:
        recorder = self.recorder()
        recorder.microbatch(valid_targets=3, divisor=3)
        Tensor(0.5).backward()
        recorder.microbatch(valid_targets=3, divisor=3)
        with self.assertRaisesRegex(RecorderError, "divisor"):
            Tensor(0.5).backward(Tensor(4.0))
        self.optimizer.step()
        self.assertEqual([each["loss_sum"] for each in self.fields("backward")], [1.5])

    def test_a_backward_inside_of_a_backward_is_not_counted(self) -> None:
        def reentrant(tensors: Any, grad_tensors: Any = None, *args: Any) -> None:
            if tensors is outer:
                Tensor(0.125).backward()

        outer = Tensor(0.25)
        with mock.patch.object(TORCH.autograd, "backward", reentrant):
            recorder = self.recorder()
            recorder.microbatch(valid_targets=3, loss_sum=1.5)
            outer.backward()
            recorder.backward(outer, valid_targets=3, loss_sum=1.5)
            self.optimizer.step()
            recorder.detach()
        self.assertEqual([each["backward_loss"] for each in self.fields("backward")], [0.25, 0.25])

    def test_a_backward_that_failed_is_no_microbatch(self) -> None:
        with mock.patch.object(TORCH.autograd, "backward", side_effect=RuntimeError("no graph")):
            recorder = self.recorder()
            recorder.microbatch(valid_targets=3, loss_sum=1.5)
            with self.assertRaises(RuntimeError):
                Tensor(0.25).backward()
            self.assertFalse(recorder.watch.is_suspended)
            recorder.detach()
        recorder.attach(self.optimizer)
        recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
        self.optimizer.step()
        self.assertEqual([each["microbatch"] for each in self.fields("backward")], ["r0-m0"])

    def test_vectors_are_taken_where_the_gradient_is(self) -> None:
        taken: list[str] = []

        def take(name: str) -> Any:
            return lambda *given: (taken.append(name), Tensor([1.0]))[1]

        basis = mock.Mock(basis={"kind": "coordinates", "dimension": 1})
        basis.numerator, basis.gradient, basis.values = take("numerator"), take("gradient"), take("values")
        records = ["accumulated", "parameters", "gradient", "gradient_sum"]
        with mock.patch.object(TORCH.autograd, "backward", lambda *given: taken.append("backward")):
            recorder = Recorder(self.path, self.contract, evidence=basis, records=records).attach(self.optimizer)
            recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=Tensor(1.5))
            TORCH.nn.utils.clip_grad.clip_grad_norm_(self.weights, 1.0)
            self.optimizer.step()
            with self.assertRaisesRegex(RecorderError, "graph"):
                recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
            recorder.close()
        self.assertEqual(taken, ["numerator", "backward", "gradient", "gradient", "values"])
        self.assertEqual(names(self.events()), ["backward", "logged", "clip", "optimizer_step", "parameters"])

    def test_without_clipping_the_gradient_is_taken_before_the_weights(self) -> None:
        basis = mock.Mock(basis={"kind": "coordinates", "dimension": 1})
        basis.gradient.return_value = Tensor([2.0])
        del self.contract["clip"]
        recorder = Recorder(self.path, self.contract, evidence=basis, records=["gradient"]).attach(self.optimizer)
        recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
        self.optimizer.step()
        recorder.close()
        self.assertEqual(self.fields("logged"), [{"window": 0, "gradient": [2.0]}])


class Around(Hooked):
    def test_clipping_of_the_own_parameters_by_the_euclidean_norm(self) -> None:
        clip = TORCH.nn.utils.clip_grad
        recorder = self.recorder()
        clip.clip_grad_norm_(iter([Tensor(1.0), self.weights[1]]), 0.5)
        clip.clip_grad_norm_([Tensor(1.0)], 0.5)
        clip.clip_grad_norm_(self.weights, 0.5, 1.0)
        clip.clip_grad_norm_(self.weights[0], 0.75, norm_type=2)
        clip.clip_grad_norm_(self.weights, float("inf"))
        with recorder.unobserved():
            clip.clip_grad_norm_(self.weights, 0.5)
        self.assertEqual(self.fields("clip"), [{"max_norm": 0.5, "norm": 3.0}, {"max_norm": 0.75, "norm": 3.0}])

    def test_zeroing_by_a_module_counts_if_it_holds_all_parameters(self) -> None:
        recorder = self.recorder()
        self.model.zero_grad()
        Module(*self.weights, Tensor(3.0)).zero_grad()
        Module(self.weights[0]).zero_grad()
        with recorder.unobserved():
            self.model.zero_grad()
            self.optimizer.zero_grad()
        self.assertEqual(self.events(), ["zero_grad", "zero_grad"])

    def test_another_optimizer_and_scheduler_are_not_observed(self) -> None:
        other = Optimizer(Tensor(1.0))
        recorder = self.recorder(scheduler=self.scheduler)
        other.step()
        other.zero_grad()
        Scheduler(other).step()
        with recorder.unobserved():
            self.optimizer.step()
            self.scheduler.step()
        self.assertEqual(self.events(), [])

    def test_a_scheduler_that_is_declared_and_not_attached_is_asked_for(self) -> None:
        for contract, scheduler, asked in [
            (self.contract, None, 1),
            (self.contract, self.scheduler, 0),
            ({**self.contract, "unobserved": ["scheduler_step"]}, None, 0),
            (contract_for("pytorch", accumulation_steps=2, scheduler=None), None, 0),
        ]:
            self.path.unlink(missing_ok=True)
            with warnings.catch_warnings(record=True) as found, Recorder(self.path, contract) as recorder:
                warnings.simplefilter("always")
                recorder.attach(self.optimizer, scheduler=scheduler)
            self.assertEqual(len(found), asked)
            self.assertTrue(all("scheduler=None" in str(each.message) for each in found))

    def test_wrappers_are_looked_into(self) -> None:
        wrapped = mock.Mock(spec=["optimizer"], optimizer=mock.Mock(spec=["optimizer"], optimizer=self.optimizer))
        ticking = mock.Mock(spec=["scheduler"], scheduler=self.scheduler)
        recorder = Recorder(self.path, self.contract).attach(wrapped, scheduler=ticking)
        recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
        self.optimizer.step()
        self.scheduler.step()
        recorder.close()
        self.assertEqual(names(self.events()), ["backward", "optimizer_step", "scheduler_step"])
        with self.assertRaisesRegex(RecorderError, "optimizer_step"):
            Recorder(self.folder / "other.jsonl", self.contract).attach(mock.Mock(spec=["step"]))

    def test_forward_and_backward_each_say_whether_they_synchronised(self) -> None:
        self.model.require_backward_grad_sync = True
        self.contract = {**self.contract, "world_size": 2, "gradient_reduction": "mean"}
        recorder = self.recorder(model=self.model)
        for at_forward, at_backward in ((True, False), (False, True)):
            self.model.require_backward_grad_sync = at_forward
            self.model()
            self.model.require_backward_grad_sync = not at_forward
            with mock.patch.object(TORCH, "gradients", False):
                self.model()
            with recorder.unobserved():
                self.model()
            self.model.require_backward_grad_sync = at_backward
            recorder.backward(Tensor(0.5), valid_targets=1, loss_sum=0.5)
        recorder.backward(Tensor(0.5), valid_targets=1, loss_sum=0.5, sync=False, forward_sync=True)
        self.optimizer.step()
        found = [(each["forward_sync"], each["sync"]) for each in self.fields("backward")]
        self.assertEqual(found, [(True, False), (False, True), (True, False)])

    def test_nothing_is_left(self) -> None:
        def patched() -> tuple[Any, ...]:
            clip = TORCH.nn.utils.clip_grad.clip_grad_norm_
            return TORCH.autograd.backward, clip, Module.zero_grad, Optimizer.zero_grad, Scheduler.step, GradScaler.step

        before = patched()
        recorder = self.recorder(scheduler=self.scheduler, scaler=GradScaler(), model=self.model)
        self.assertFalse(set(before) & set(patched()))
        recorder.attach(self.optimizer)
        self.assertEqual(len(self.optimizer.hooks), 1)
        recorder.detach()
        self.assertEqual(patched(), before)
        self.assertEqual((self.optimizer.hooks, self.model.before), ([], []))


class Scaling(Hooked):
    def scaled(self, scaler: GradScaler, overflow: bool = False) -> None:
        recorder = self.recorder(scaler=scaler)
        recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
        scaler.overflow = overflow
        scaler.step(self.optimizer)
        scaler.update()
        recorder.close()

    def test_a_step_that_unscales(self) -> None:
        self.scaled(GradScaler(8.0))
        self.assertEqual(names(self.events()), ["backward", "unscale", "optimizer_step", "scaler_update"])
        self.assertEqual((self.fields("backward")[0]["loss_scale"], self.fields("backward")[0]["backward_loss"]), (8.0, 0.5))
        self.assertEqual(self.fields("unscale"), [{"loss_scale": 8.0, "nonfinite": False}])
        self.assertNotIn("loss_scale", self.fields("optimizer_step")[0])

    def test_an_overflow_skips(self) -> None:
        self.scaled(GradScaler(8.0), overflow=True)
        self.assertEqual(self.fields("unscale"), [{"loss_scale": 8.0, "nonfinite": True}])
        self.assertEqual(self.fields("optimizer_step"), [{"window": 0, "outcome": "skipped", "learning_rate": 0.1}])
        self.assertEqual(self.fields("scaler_update"), [{"loss_scale": 4.0}])

    def test_a_skipped_update_between_applied_ones(self) -> None:
        scaler = GradScaler(8.0)
        recorder = self.recorder(scaler=scaler)
        for overflow in (False, True, False):
            recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
            scaler.overflow = overflow
            scaler.step(self.optimizer)
            scaler.update()
        outcomes = [(each["window"], each["outcome"]) for each in self.fields("optimizer_step")]
        self.assertEqual(outcomes, [(0, "applied"), (1, "skipped"), (2, "applied")])

    def test_a_loop_that_scales_and_unscales_itself(self) -> None:
        scaler = GradScaler(8.0)
        recorder = self.recorder(scaler=scaler)
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        scaler.scale(Tensor(0.5)).backward()
        scaler.unscale_(self.optimizer)
        scaler.step(self.optimizer)
        scaler.update()
        self.assertEqual(names(self.events()), ["backward", "unscale", "optimizer_step", "scaler_update"])
        backward = self.fields("backward")[0]
        self.assertEqual((backward["backward_loss"], backward["loss_scale"]), (0.5, 8.0))

    def test_a_loss_that_was_not_scaled_has_scale_one(self) -> None:
        scaler = GradScaler(8.0)
        recorder = self.recorder(scaler=scaler)
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        scaler.scale(Tensor(0.25))
        Tensor(0.5).backward()
        recorder.microbatch(valid_targets=3, loss_sum=1.5)
        Tensor(0.5).backward(Tensor(2.0))
        scaler.step(self.optimizer)
        found = [(each.get("backward_loss"), each["loss_scale"]) for each in self.fields("backward")]
        self.assertEqual(found, [(0.5, 1.0), (None, 1.0)])

    def test_a_fused_optimizer_unscales_and_skips_by_itself(self) -> None:
        for unscaled, found, outcome in ((False, 0.0, "applied"), (False, 1.0, "skipped"), (True, 0.0, "applied")):
            with self.subTest(unscaled=unscaled, found=found):
                self.path.unlink(missing_ok=True)
                scaler = GradScaler(8.0)
                recorder = self.recorder(scaler=scaler)
                recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
                if unscaled:
                    scaler.unscale_(self.optimizer)
                self.optimizer.found_inf = Tensor(found)
                self.optimizer.step()
                recorder.close()
                divided_out = {} if unscaled else {"loss_scale": 8.0}
                expected = {"window": 0, "outcome": outcome, "learning_rate": 0.1, **divided_out}
                self.assertEqual(self.fields("optimizer_step"), [expected])

    def test_a_second_window_is_unscaled_for_itself(self) -> None:
        scaler = GradScaler(8.0)
        recorder = self.recorder(scaler=scaler)
        for unscales in (True, False):
            recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
            if unscales:
                scaler.unscale_(self.optimizer)
            self.optimizer.found_inf = Tensor(0.0)
            with mock.patch.object(scaler, "unscale_", lambda optimizer: None):
                scaler.step(self.optimizer)
            scaler.update()
        self.assertEqual(["loss_scale" in each for each in self.fields("optimizer_step")], [False, True])

    def test_the_scaler_of_another_optimizer(self) -> None:
        scaler = GradScaler(8.0)
        self.recorder(scaler=scaler)
        scaler.step(Optimizer(Tensor(1.0)))
        self.assertEqual(self.events(), [])

    def test_a_scaler_that_is_off_is_not_there(self) -> None:
        scaler = GradScaler(enabled=False)
        recorder = self.recorder(scaler=scaler)
        recorder.backward(Tensor(0.5), valid_targets=3, loss_sum=1.5)
        self.optimizer.step()
        self.assertNotIn("loss_scale", self.fields("backward")[0])

    def test_a_scale_that_changes_before_the_write_is_recorded_as_it_was(self) -> None:
        scaler = GradScaler(8.0, device="cuda")
        recorder = self.recorder(scaler=scaler)
        with recorder.window():
            recorder.backward(Tensor(0.5, "cuda"), valid_targets=3, loss_sum=1.5)
            scaler.overflow = True
            scaler.step(self.optimizer)
            scaler.update()
        self.assertEqual(self.fields("backward")[0]["loss_scale"], 8.0)
        self.assertEqual(self.fields("scaler_update"), [{"loss_scale": 4.0}])

    def test_a_product_is_taken_in_binary64(self) -> None:
        loss = Tensor(0.5, "cuda")
        for one, other in ((loss, 3), (3, loss), (loss, Tensor(3, "cuda"))):
            found = product(one, other)
            self.assertEqual((found.value, found.dtype), (1.5, "float64"))
        self.assertEqual(product(Tensor(0.5), 3), 1.5)

    def test_nothing_is_read_from_a_device_before_the_step(self) -> None:
        scaler = GradScaler(8.0, device="cuda")
        recorder = self.recorder(scaler=scaler)
        for _ in range(2):
            recorder.backward(Tensor(0.5, "cuda"), valid_targets=Tensor(3, "cuda"), loss_sum=Tensor(1.5, "cuda"))
        scaler.unscale_(self.optimizer)
        recorder.clip(1.0, Tensor(2.0, "cuda"))
        self.assertEqual(Tensor.reads, 0)
        scaler.step(self.optimizer)
        self.assertEqual(Tensor.reads, 1)
        self.assertEqual([each["backward_loss"] for each in self.fields("backward")], [0.5, 0.5])
        self.assertEqual([each["loss_scale"] for each in self.fields("backward")], [8.0, 8.0])
        self.assertEqual(self.fields("clip"), [{"max_norm": 1.0, "norm": 2.0}])
