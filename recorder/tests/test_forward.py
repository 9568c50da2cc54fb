"""Microbatches described from a model's forward, and the check of what is assumed about its loss."""

from __future__ import annotations

import unittest
from typing import Any, Optional

try:
    import torch
except ImportError:
    raise unittest.SkipTest("these tests need PyTorch: pip install torch") from None

from accumulation_receipt import Recorder, RecorderError, contract_for, count_targets, loss_sum_from_logits

from .support import InFolder, names, verify

LABELS = [torch.tensor([[1, 2, -100, 3, 4], [-100, 5, 1, 2, 6]]), torch.tensor([[1, 2, 3], [4, -100, 5]])]
TARGETS = [count_targets(labels) for labels in LABELS]


class Answering(torch.nn.Module):
    """Answers as Transformers' models do; ``ignores`` what it is told to divide by, or has ``no_loss``."""

    def __init__(self, kind: str = "") -> None:
        super().__init__()
        self.table = torch.nn.Embedding(8, 8)
        self.kind = kind

    def forward(
        self, labels: Optional[torch.Tensor] = None, num_items_in_batch: Any = None, tokens: Any = None
    ) -> dict[str, torch.Tensor]:
        given = labels if labels is not None else tokens
        logits = self.table(given.clamp(min=0))
        answer = {"logits": logits}
        if labels is not None and self.kind != "no_loss":
            kept, targets = logits[:, :-1].reshape(-1, 8), labels[:, 1:].reshape(-1)
            total = torch.nn.functional.cross_entropy(kept, targets, reduction="sum")
            divisor = (
                num_items_in_batch if num_items_in_batch and self.kind != "ignores" else count_targets(labels)
            )
            answer["loss"] = total / divisor
        return answer


class Forwards(InFolder):
    def run_window(self, model: Answering, told: Any, **options: Any) -> list[Any]:
        """One window in which the model is told what to divide by; its backwards."""
        torch.manual_seed(2)
        self.path.unlink(missing_ok=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        contract = contract_for("pytorch", accumulation_steps=2, scheduler=None)
        with Recorder(self.path, contract) as recorder:
            recorder.attach(optimizer, model=model).describe_forwards(model, **options)
            for labels in LABELS:
                answer = model(labels=labels, num_items_in_batch=told)
                (answer["loss"] if told else loss_sum_of(answer, labels) / sum(TARGETS)).backward()
            optimizer.step()
        return [event["backward"] for event in self.events() if "backward" in event]

    def test_both_sources_give_the_same_numbers(self) -> None:
        torch.manual_seed(1)
        model = Answering()
        start = {name: value.clone() for name, value in model.state_dict().items()}
        recomputed = self.run_window(model, sum(TARGETS))
        self.assertEqual(verify(self.path)[0], 0)
        model.load_state_dict(start)
        scaled = self.run_window(model, sum(TARGETS), numerator="scaled-loss")
        self.assertEqual(verify(self.path)[0], 0)
        for one, other in zip(recomputed, scaled):
            self.assertAlmostEqual(one.pop("loss_sum"), other.pop("loss_sum"), places=4)
            self.assertEqual(one, other)
        self.assertEqual([each["valid_targets"] for each in scaled], [7, 3])
        self.assertEqual([each["unshifted_targets"] for each in scaled], [8, 5])
        self.assertEqual([(each["rows"], each["slots"]) for each in scaled], [(2, 10), (2, 6)])

    def test_a_loss_that_is_not_what_was_assumed_stops_the_run(self) -> None:
        with self.assertRaisesRegex(RecorderError, "numerator=\"recomputed\""):
            self.run_window(Answering("ignores"), sum(TARGETS), numerator="scaled-loss")
        # The same run, with numerators from the logits, is told for what it is.
        self.run_window(Answering("ignores"), sum(TARGETS))
        code, printed = verify(self.path)
        self.assertEqual(code, 1)
        self.assertIn("sum-of-means", printed)
        with self.assertRaisesRegex(RecorderError, "numerator=\"recomputed\""):
            self.run_window(Answering(), sum(TARGETS), numerator="scaled-loss", shift=False)

    def test_only_the_first_window_is_checked(self) -> None:
        model = Answering()
        with Recorder(self.path, contract_for("pytorch", accumulation_steps=1, scheduler=None)) as recorder:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            recorder.attach(optimizer).describe_forwards(model, numerator="scaled-loss")
            for kind in ("", "ignores"):
                model.kind = kind
                model(labels=LABELS[0], num_items_in_batch=70)["loss"].backward()
                optimizer.step()
        self.assertEqual(names(self.events()), ["backward", "optimizer_step"] * 2)

    def test_a_forward_without_gradients_or_labels_describes_nothing(self) -> None:
        model = Answering()
        with Recorder(self.path, contract_for("pytorch", accumulation_steps=1)) as recorder:
            recorder.attach(torch.optim.SGD(model.parameters(), lr=0.1)).describe_forwards(model)
            with torch.no_grad():
                model(labels=LABELS[0])
            with recorder.unobserved():
                model(labels=LABELS[0])
            model(tokens=LABELS[0])
            self.assertIsNone(recorder.watch.described)
            model(labels=LABELS[0])
            self.assertIsNotNone(recorder.watch.described)

    def test_hooks_are_gone_after_the_end(self) -> None:
        model = Answering()
        with Recorder(self.path, contract_for("pytorch", accumulation_steps=1)) as recorder:
            recorder.describe_forwards(model)
        self.assertFalse(model._forward_hooks)


def loss_sum_of(answer: dict[str, torch.Tensor], labels: torch.Tensor) -> torch.Tensor:
    """With its graph."""
    kept = answer["logits"][:, :-1].reshape(-1, 8)
    return torch.nn.functional.cross_entropy(kept, labels[:, 1:].reshape(-1), reduction="sum")


class Sources(InFolder):
    def test_a_numerator_of_another_kind_is_refused(self) -> None:
        with Recorder(self.path, contract_for("pytorch", accumulation_steps=1)) as recorder:
            with self.assertRaises(ValueError):
                recorder.describe_forwards(Answering(), numerator="guessed")

    def test_labels_of_classes(self) -> None:
        logits, labels = torch.randn(4, 3), torch.tensor([0, 2, 1, -100])
        expected = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        self.assertAlmostEqual(float(loss_sum_from_logits(logits, labels, shift=False)), float(expected), places=5)


class Synchronised(InFolder):
    def test_forward_and_backward_are_asked_each_for_itself(self) -> None:
        model = Answering()
        model.require_backward_grad_sync = True  # As a DistributedDataParallel has it.
        contract = contract_for("pytorch", accumulation_steps=2, world_size=2)
        with Recorder(self.path, contract, rank=1) as recorder:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            recorder.attach(optimizer, model=model).describe_forwards(model)
            for at_forward, at_backward in ((True, False), (False, True)):
                model.require_backward_grad_sync = at_forward
                loss = model(labels=LABELS[0])["loss"]
                with torch.no_grad():
                    model.require_backward_grad_sync = not at_forward
                    model(labels=LABELS[0])
                model.require_backward_grad_sync = at_backward
                loss.backward()
            optimizer.step()
        backwards = [event["backward"] for event in self.events() if "backward" in event]
        self.assertEqual(
            [(each["forward_sync"], each["sync"]) for each in backwards], [(True, False), (False, True)]
        )
        self.assertEqual(backwards[0]["microbatch"], "r1-m0")


if __name__ == "__main__":
    unittest.main()
