"""Events: what was recorded elsewhere passes unchanged; nonfinite numbers are told, never written."""

from __future__ import annotations

import json
import math
import unittest

from accumulation_receipt import limits
from accumulation_receipt.events import line, seal
from accumulation_receipt.refusal import Refused

from .support import FIXTURES

BACKWARD = {"window": 0, "microbatch": "r0-m0", "valid_targets": 3, "loss_sum": 1.5, "backward_loss": 0.5}


class Events(unittest.TestCase):
    def test_every_recorded_event_passes_unchanged(self) -> None:
        seen = 0
        for path in sorted(FIXTURES.glob("recorded/**/*.jsonl")):
            for text in path.read_text().splitlines()[1:]:
                event = json.loads(text)
                name, fields = (event, {}) if isinstance(event, str) else next(iter(event.items()))
                with self.subTest(path=path.name, event=text[:80]):
                    self.assertEqual(seal(name, fields), fields)
                    self.assertEqual(json.loads(line(name, fields)), event)
                    seen += 1
        self.assertGreater(seen, 1000)

    def test_a_microbatch_that_is_not_finite_says_so(self) -> None:
        told = {"window": 0, "microbatch": "r0-m0", "valid_targets": 3, "nonfinite": True}
        self.assertEqual(seal("backward", {**BACKWARD, "loss_sum": math.nan}), {**told, "backward_loss": 0.5})
        self.assertEqual(seal("backward", {**BACKWARD, "backward_loss": math.inf}), told)
        self.assertEqual(
            seal("backward", {**BACKWARD, "gradient_sum": [0.0, math.nan]}), {**told, "backward_loss": 0.5}
        )
        self.assertEqual(seal("backward", {**BACKWARD, "nonfinite": True}), {**told, "backward_loss": 0.5})
        self.assertEqual(seal("backward", {**BACKWARD, "nonfinite": False}), BACKWARD)

    def test_a_nonfinite_accumulator_is_left_out(self) -> None:
        self.assertEqual(seal("backward", {**BACKWARD, "accumulated": [math.inf]}), BACKWARD)

    def test_a_clip_whose_norm_is_not_finite_says_so(self) -> None:
        self.assertEqual(seal("clip", {"max_norm": 1.0, "norm": math.inf}), {"max_norm": 1.0, "nonfinite": True})
        self.assertEqual(seal("clip", {"max_norm": 1.0, "norm": 2.0}), {"max_norm": 1.0, "norm": 2.0})
        with self.assertRaises(Refused):
            seal("clip", {"max_norm": 1.0})
        with self.assertRaises(Refused):
            seal("clip", {"max_norm": math.inf, "norm": 1.0})

    def test_a_claim_that_is_not_finite_is_left_out(self) -> None:
        self.assertEqual(
            seal("logged", {"window": 0, "loss": math.nan, "denominator": 3}), {"window": 0, "denominator": 3}
        )
        self.assertIsNone(seal("logged", {"window": 0, "loss": math.nan, "decimals": 4}))
        self.assertIsNone(seal("parameters", {"values": [1.0, math.nan]}))

    def test_what_has_no_other_word_is_refused(self) -> None:
        for event, fields in [
            ("scheduler_step", {"learning_rate": math.nan}),
            ("scaler_update", {"loss_scale": math.inf}),
            ("optimizer_step", {"window": 0, "outcome": "done"}),
            ("optimizer_step", {"window": 0}),
            ("backward", {"window": 0, "microbatch": "r0-m0", "valid_targets": 3}),
            ("backward", {**BACKWARD, "valid_targets": -1}),
            ("backward", {**BACKWARD, "tokens": [1, 2]}),
            ("backward", {**BACKWARD, "microbatch": "my text"}),
            ("logged", {"window": 0, "loss": 1.0, "decimals": 18}),
            ("forward", {}),
        ]:
            with self.subTest(event=event, fields=fields), self.assertRaises(Refused):
                seal(event, fields)

    def test_a_line_beyond_the_limit_is_refused(self) -> None:
        around = len(line("x", {"text": ""}))
        self.assertEqual(len(line("x", {"text": "a" * (limits.LINE_BYTES - around)})), limits.LINE_BYTES)
        with self.assertRaises(Refused):
            line("x", {"text": "a" * (limits.LINE_BYTES - around + 1)})

    def test_a_line_has_no_spaces_and_only_ascii(self) -> None:
        self.assertEqual(line("zero_grad", {}), '"zero_grad"')
        self.assertEqual(line("epoch_end", {}), '"epoch_end"')
        self.assertEqual(line("epoch_end", {"microbatches": 3}), '{"epoch_end":{"microbatches":3}}')


if __name__ == "__main__":
    unittest.main()
