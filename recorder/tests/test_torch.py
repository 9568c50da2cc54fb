"""What needs PyTorch: hooks see what happened, once and in order, and leave nothing; devices are not waited for.

Without PyTorch these are skipped; the manifests that the examples recorded are tested from Rust.
"""

from __future__ import annotations

import contextlib
import copy
import json
import unittest
from typing import Any, Iterator
from unittest import mock

try:
    import torch
    from torch.nn.utils import clip_grad_norm_ as imported_clip
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    raise unittest.SkipTest("these tests need PyTorch: pip install torch") from None

from accumulation_receipt import (
    Complete,
    Coordinates,
    Recorder,
    RecorderError,
    Refused,
    Sketch,
    contract_for,
    count_targets,
    deferred,
    loss_sum_from_logits,
)

from .support import InFolder, names, verify


class Reads(TorchDispatchMode):
    """Counts reads of a number from a tensor, each of which would wait for an accelerator."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten._local_scalar_dense.default:
            self.count += 1
        return function(*args, **(kwargs or {}))


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 3)
        self.second = torch.nn.Linear(3, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.second(torch.tanh(self.first(inputs)))


class WithModel(InFolder):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(3)
        self.model = Model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.1, 20)
        self.contract = contract_for("pytorch", accumulation_steps=2, clip={"max_norm": 1.0})

    def loss(self, targets: int) -> torch.Tensor:
        return (self.model(torch.ones(targets, 4)) ** 2).sum()

    def window(self, recorder: Recorder, counts: tuple[int, ...] = (3, 6)) -> None:
        for count in counts:
            loss_sum = self.loss(count)
            recorder.backward(loss_sum / sum(counts), valid_targets=count, loss_sum=loss_sum)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()


WINDOW = ["backward", "backward", "clip", "optimizer_step", "scheduler_step", "zero_grad"]


class Hooks(WithModel):
    def test_a_window_is_seen_in_order(self) -> None:
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer, scheduler=self.scheduler, model=self.model)
            self.window(recorder)
            self.window(recorder)
        self.assertEqual(names(self.events()), WINDOW * 2)
        self.assertEqual(verify(self.path)[0], 0)

    def test_a_loop_that_calls_backward_itself(self) -> None:
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer)
            loss_sum = self.loss(3)
            recorder.microbatch(valid_targets=3, loss_sum=loss_sum)
            (loss_sum / 9).backward()
            recorder.microbatch(valid_targets=6, loss_sum=loss_sum)
            torch.autograd.backward([self.loss(6) / 9])
            with self.assertRaisesRegex(RecorderError, "nothing was said"):
                self.loss(1).backward()
            with recorder.unobserved():
                self.loss(1).backward()
            self.optimizer.step()
        backwards = [event["backward"] for event in self.events() if "backward" in event]
        self.assertEqual(len(backwards), 2)
        self.assertEqual(backwards[0]["backward_loss"], float(torch.tensor(backwards[0]["loss_sum"]) / 9))

    def test_a_backward_that_failed_is_no_microbatch(self) -> None:
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer)
            loss = self.loss(3)
            recorder.microbatch(valid_targets=3, loss_sum=loss)
            loss.backward()
            recorder.microbatch(valid_targets=3, loss_sum=loss)
            with self.assertRaises(RuntimeError):
                loss.backward()  # The graph is gone.
            self.optimizer.step()
        self.assertEqual(names(self.events()), ["backward", "optimizer_step"])

    def test_reentrant_checkpointing_is_one_backward(self) -> None:
        from torch.utils.checkpoint import checkpoint

        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer)
            inputs = torch.ones(3, 4, requires_grad=True)
            loss = (checkpoint(self.model, inputs, use_reentrant=True) ** 2).sum()
            recorder.microbatch(valid_targets=3, loss_sum=loss)
            loss.backward()
            self.optimizer.step()
        self.assertEqual(names(self.events()), ["backward", "optimizer_step"])

    def test_clipping_is_seen_under_an_imported_name_and_for_the_own_parameters_only(self) -> None:
        other = torch.nn.Linear(2, 2)
        other(torch.ones(1, 2)).sum().backward()
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer)
            recorder.backward(self.loss(3), valid_targets=3, loss_sum=1.0)
            expected = torch.sqrt(sum((each.grad**2).sum() for each in self.model.parameters()))
            globals()["imported_clip"](self.model.parameters(), 1.0)
            torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, norm_type=1.0)
            self.optimizer.step()
        clips = [event["clip"] for event in self.events() if "clip" in event]
        self.assertEqual(len(clips), 1)
        self.assertAlmostEqual(clips[0]["norm"], float(expected), places=6)

    def test_zeroing_by_the_module_counts_if_it_holds_all_parameters(self) -> None:
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer)
            self.model.zero_grad()
            torch.nn.Sequential(self.model).zero_grad()
            self.model.first.zero_grad()
        self.assertEqual(self.events(), ["zero_grad", "zero_grad"])

    def test_nothing_is_left(self) -> None:
        def patched() -> tuple[object, ...]:
            return (
                torch.autograd.backward,
                torch.nn.utils.clip_grad_norm_,
                torch.nn.utils.clip_grad.clip_grad_norm_,
                torch.nn.Module.zero_grad,
                torch.optim.Optimizer.zero_grad,
                torch.optim.lr_scheduler.LRScheduler.step,
                globals()["imported_clip"],
            )

        before = patched()
        state = copy.deepcopy(self.scheduler.state_dict())
        recorder = Recorder(self.path, self.contract)
        recorder.attach(self.optimizer, scheduler=self.scheduler, model=self.model)
        self.assertEqual(self.scheduler.state_dict(), state)
        self.assertIsNot(torch.autograd.backward, before[0])
        recorder.close()
        self.assertEqual(before, patched())
        self.assertFalse(self.optimizer._optimizer_step_post_hooks)

    def test_training_is_not_changed(self) -> None:
        def trained(observed: bool) -> list[torch.Tensor]:
            self.setUp()
            recorder = Recorder(self.path, self.contract, evidence=Complete(self.model)) if observed else None
            if recorder is not None:
                recorder.attach(self.optimizer, scheduler=self.scheduler, model=self.model)
            for _ in range(3):
                for count in (3, 6):
                    loss_sum = self.loss(count)
                    if recorder is not None:
                        recorder.backward(loss_sum / 9, valid_targets=count, loss_sum=loss_sum)
                    else:
                        (loss_sum / 9).backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()
            if recorder is not None:
                recorder.close()
            return [parameter.detach().clone() for parameter in self.model.parameters()]

        for without, recorded in zip(trained(False), trained(True)):
            self.assertTrue(torch.equal(without, recorded))

    def test_a_scheduler_that_ticks_by_itself_inside_another_is_not_counted(self) -> None:
        inner = torch.optim.lr_scheduler.LinearLR(self.optimizer, 1.0, 0.1, 20)
        outer = torch.optim.lr_scheduler.ChainedScheduler([inner])
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(self.optimizer, scheduler=outer)
            outer.step()
        self.assertEqual(names(self.events()), ["scheduler_step"])


class Scaling(WithModel):
    def scaled(self, scaler: Any, *, fused: bool = False, overflow: bool = False) -> list[Any]:
        optimizer = torch.optim.Adam(self.model.parameters(), lr=0.1, fused=fused)
        with Recorder(self.path, self.contract) as recorder:
            recorder.attach(optimizer, scaler=scaler)
            loss = self.loss(3) * (float("inf") if overflow else 1.0)
            recorder.backward(loss, valid_targets=3, loss_sum=1.0)
            scaler.step(optimizer)
            scaler.update()
        return self.events()

    def test_step_unscales_where_the_loop_did_not(self) -> None:
        events = self.scaled(torch.amp.GradScaler("cpu", init_scale=8.0))
        self.assertEqual(names(events), ["backward", "unscale", "optimizer_step", "scaler_update"])
        self.assertEqual(events[0]["backward"]["loss_scale"], 8.0)
        self.assertEqual(events[0]["backward"]["backward_loss"], float(self.loss_before))
        self.assertEqual(events[1]["unscale"], {"loss_scale": 8.0, "nonfinite": False})

    def loss(self, targets: int) -> torch.Tensor:
        self.loss_before = super().loss(targets)
        return self.loss_before

    def test_an_overflow_skips(self) -> None:
        events = self.scaled(torch.amp.GradScaler("cpu", init_scale=8.0), overflow=True)
        self.assertEqual(events[1]["unscale"]["nonfinite"], True)
        self.assertEqual(events[2]["optimizer_step"]["outcome"], "skipped")
        self.assertEqual(events[3]["scaler_update"]["loss_scale"], 4.0)

    def test_a_fused_optimizer_unscales_and_skips_by_itself(self) -> None:
        for overflow, outcome in ((False, "applied"), (True, "skipped")):
            self.setUp()
            events = self.scaled(torch.amp.GradScaler("cpu", init_scale=8.0), fused=True, overflow=overflow)
            self.assertEqual(names(events), ["backward", "optimizer_step", "scaler_update"])
            step = events[1]["optimizer_step"]
            self.assertEqual((step["outcome"], step["loss_scale"]), (outcome, 8.0))

    def test_a_scaler_that_is_off_is_not_there(self) -> None:
        events = self.scaled(torch.amp.GradScaler("cpu", enabled=False))
        self.assertEqual(names(events), ["backward", "optimizer_step"])
        self.assertNotIn("loss_scale", events[0]["backward"])


class Devices(WithModel):
    @contextlib.contextmanager
    def pretended_accelerator(self) -> Iterator[Reads]:
        """Every tensor is treated as if it stood on an accelerator, and reads are counted."""
        with mock.patch.object(deferred, "on_host", return_value=False), Reads() as reads:
            yield reads

    def test_no_number_is_read_before_the_window_ends(self) -> None:
        recorder = Recorder(self.path, self.contract)
        recorder.attach(self.optimizer, scheduler=self.scheduler)
        with self.pretended_accelerator() as reads:
            for count in (3, 6):
                loss_sum = self.loss(count)
                counted = torch.tensor(count)
                recorder.backward(loss_sum / 9, valid_targets=counted, loss_sum=loss_sum)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.assertEqual(reads.count, 0)
            self.optimizer.step()
        recorder.close()
        backward = self.events()[0]["backward"]
        self.assertEqual((backward["valid_targets"], type(backward["loss_sum"])), (3, float))
        self.assertEqual(names(self.events())[:4], WINDOW[:4])

    def test_one_transfer_for_each_dtype(self) -> None:
        waiting = [deferred.Deferred(torch.tensor(float(at))) for at in range(5)]
        waiting += [deferred.Deferred(torch.tensor(at)) for at in range(3)]
        waiting.append(deferred.Deferred(torch.tensor([1.5, 2.5])))
        transfers, tolist = [], torch.Tensor.tolist
        with mock.patch.object(torch.Tensor, "tolist", lambda self: (transfers.append(self.dtype), tolist(self))[1]):
            deferred.read(waiting)
        self.assertEqual(sorted(map(str, transfers)), ["torch.float32", "torch.int64"])
        self.assertEqual([each.value for each in waiting], [0.0, 1.0, 2.0, 3.0, 4.0, 0, 1, 2, [1.5, 2.5]])

    def test_a_loss_of_one_element_is_a_scalar_and_a_longer_one_refused(self) -> None:
        for on_host in (True, False):
            path = self.folder / f"{on_host}.jsonl"
            with Recorder(path, self.contract, evidence=Coordinates(self.model, 1)) as recorder:
                with mock.patch.object(deferred, "on_host", return_value=on_host):
                    one = torch.tensor([1.5])
                    recorder.record_backward(
                        valid_targets=torch.tensor([3]), loss_sum=one, backward_loss=one, accumulated=torch.tensor([2.0])
                    )
                    with self.assertRaises(Refused):
                        recorder.record_backward(valid_targets=3, loss_sum=torch.ones(2))
                    recorder.optimizer_step()
            backward = json.loads(path.read_text().splitlines()[1])["backward"]
            self.assertEqual((backward["loss_sum"], backward["valid_targets"]), (1.5, 3))
            self.assertEqual(backward["accumulated"], [2.0])

    def test_what_changes_in_place_later_was_copied(self) -> None:
        loss = torch.tensor(3.0)
        with mock.patch.object(deferred, "on_host", return_value=False):
            waiting = deferred.later(loss)
        loss.mul_(0.5)
        deferred.read([waiting])
        self.assertEqual(waiting.value, 3.0)

    def test_the_product_of_a_loss_and_its_divisor(self) -> None:
        for on_host in (True, False):
            with mock.patch.object(deferred, "on_host", return_value=on_host):
                for one, other in [(torch.tensor(0.1), 7), (0.1, torch.tensor(7)), (torch.tensor(0.1), torch.tensor(7))]:
                    product = deferred.later(deferred.product(one, other))
                    if not on_host:
                        deferred.read([product])
                    exact = float(torch.tensor(0.1)) if torch.is_tensor(one) else 0.1
                    self.assertEqual(deferred.known(product), exact * 7)


class Bases(WithModel):
    def test_coordinates_are_those_of_the_flattened_parameters(self) -> None:
        self.loss(3).backward()
        flat = torch.cat([parameter.detach().reshape(-1) for parameter in self.model.parameters()])
        gradient = torch.cat([parameter.grad.reshape(-1) for parameter in self.model.parameters()])
        complete = Complete(self.model)
        self.assertTrue(torch.equal(complete.values(), flat))
        self.assertTrue(torch.equal(complete.gradient(), gradient))
        self.assertEqual(complete.basis, {"kind": "complete", "dimension": 23})
        chosen, again, other = (Coordinates(self.model, 5, seed=seed) for seed in (1, 1, 2))
        self.assertTrue(torch.equal(chosen.values(), again.values()))
        self.assertFalse(torch.equal(chosen.values(), other.values()))
        self.assertTrue(set(chosen.values().tolist()) <= set(flat.tolist()))
        with self.assertRaises(ValueError):
            Coordinates(self.model, 24)

    def test_a_gradient_that_is_not_there_is_zero(self) -> None:
        self.assertEqual(Complete(self.model).gradient().tolist(), [0.0] * 23)
        self.assertEqual(Sketch(self.model, 4).gradient().tolist(), [0.0] * 4)

    def test_a_frozen_or_tied_parameter(self) -> None:
        self.model.first.weight.requires_grad_(False)
        self.assertEqual(Complete(self.model).basis["dimension"], 11)
        tied = [self.model.second.weight, self.model.second.weight]
        self.assertEqual(Complete(tied).basis["dimension"], 6)

    def test_a_numerators_gradient_leaves_the_buffers_alone(self) -> None:
        loss = self.loss(3)
        for basis in (Complete(self.model), Sketch(self.model, 4, seed=9)):
            numerator = basis.numerator(loss)
            self.assertTrue(all(parameter.grad is None for parameter in self.model.parameters()))
            loss.backward(retain_graph=True)
            self.assertTrue(torch.allclose(numerator, basis.gradient()))
            self.model.zero_grad()

    def test_a_sketch_is_linear_and_keeps_inner_products_in_expectation(self) -> None:
        big = torch.nn.Linear(40, 50)
        one, other = torch.randn(50, 40), torch.randn(50, 40)

        def sketched(basis: Sketch, weight: torch.Tensor) -> torch.Tensor:
            big.weight.grad = weight
            return basis.gradient()

        basis = Sketch(big, 16, seed=1)
        total = sketched(basis, one) + 2 * sketched(basis, other)
        self.assertTrue(torch.allclose(sketched(basis, one + 2 * other), total, atol=1e-4))
        self.assertTrue(torch.equal(sketched(Sketch(big, 16, seed=1), one), sketched(basis, one)))
        self.assertFalse(torch.equal(sketched(Sketch(big, 16, seed=2), one), sketched(basis, one)))
        squares = [float((sketched(Sketch(big, 16, seed=seed), one) ** 2).sum()) for seed in range(300)]
        self.assertAlmostEqual(sum(squares) / 300 / float((one**2).sum()), 1.0, delta=0.1)

    def test_recorded_vectors_are_witnesses(self) -> None:
        records = ["accumulated", "parameters", "gradient", "gradient_sum"]
        for evidence in (Complete(self.model), Coordinates(self.model, 5), Sketch(self.model, 5)):
            self.path.unlink(missing_ok=True)
            with Recorder(self.path, self.contract, evidence=evidence, records=records) as recorder:
                recorder.attach(self.optimizer, scheduler=self.scheduler)
                self.window(recorder)
                self.window(recorder, (1, 4))
            code, printed = verify(self.path)
            self.assertEqual(code, 0, printed)
            self.assertIn("gradient", printed)
            self.assertIn("accumulated", printed)
            self.assertEqual("parameters" in printed, not isinstance(evidence, Sketch), printed)


class Counting(unittest.TestCase):
    def test_tensors_count_as_lists_do(self) -> None:
        generator = torch.Generator().manual_seed(4)
        for _ in range(200):
            labels = torch.randint(-1, 3, (3, 7), generator=generator)
            mask = torch.randint(0, 2, (3, 7), generator=generator)
            documents = torch.randint(0, 2, (3, 7), generator=generator).cumsum(-1)
            for shift in (True, False):
                for given in ({}, {"attention_mask": mask}, {"document_ids": documents}):
                    plain = {name: value.tolist() for name, value in given.items()}
                    self.assertEqual(
                        count_targets(labels, -1, shift, **given), count_targets(labels.tolist(), -1, shift, **plain)
                    )

    def test_a_tensor_elsewhere_stays_there(self) -> None:
        with mock.patch.object(deferred, "on_host", return_value=False):
            self.assertTrue(torch.is_tensor(count_targets(torch.tensor([[1, 2, 3]]))))

    def test_a_numerator_is_the_summed_loss(self) -> None:
        logits = torch.randn(2, 5, 7, requires_grad=True)
        labels = torch.tensor([[1, 2, -100, 3, 4], [-100, -100, -100, 5, 6]])
        logarithms = torch.log_softmax(logits.detach().double(), -1)
        expected = -sum(
            logarithms[row, at - 1, labels[row, at]]
            for row in range(2)
            for at in range(1, 5)
            if labels[row, at] != -100
        )
        for precise, tolerance in ((False, 1e-5), (True, 1e-5)):
            found = loss_sum_from_logits(logits, labels, precise=precise)
            self.assertFalse(found.requires_grad)
            self.assertAlmostEqual(float(found), float(expected), delta=tolerance)
        self.assertEqual(loss_sum_from_logits(logits.double(), labels).dtype, torch.float64)
        half = loss_sum_from_logits(logits.bfloat16(), labels)
        self.assertEqual(half.dtype, torch.float32)


if __name__ == "__main__":
    unittest.main()
