"""Contracts: what the reader takes is taken unchanged, what it refuses is refused."""

from __future__ import annotations

import json
import unittest
from typing import Any, Iterator

from accumulation_receipt.contract import check_contract
from accumulation_receipt.refusal import Refused

from .support import CONTRACT, FIXTURES


def contracts(pattern: str) -> Iterator[tuple[str, Any]]:
    """(file, contract) of every fixture that has one."""
    for path in sorted(FIXTURES.glob(pattern)):
        text = path.read_text()
        document = json.loads(text.splitlines()[0] if path.suffix == ".jsonl" else text)
        if "contract" in document:
            yield str(path.relative_to(FIXTURES)), document["contract"]


class Contract(unittest.TestCase):
    def test_every_accepted_contract_of_the_fixtures_is_taken_unchanged(self) -> None:
        seen = 0
        for pattern in ("recorded/**/*.json*", "worked/*.json*", "rules/*/good*.json"):
            for name, contract in contracts(pattern):
                with self.subTest(name):
                    self.assertEqual(check_contract(contract), contract)
                    seen += 1
        self.assertGreater(seen, 80)

    def test_impossible_contracts_of_the_fixtures_are_refused(self) -> None:
        found = list(contracts("rules/GA118-impossible-contract/bad*.json"))
        self.assertGreaterEqual(len(found), 4)
        for name, contract in found:
            with self.subTest(name), self.assertRaises(Refused):
                check_contract(contract)

    def test_each_fault_is_refused_by_its_name(self) -> None:
        dynamic = {
            "policy": "dynamic",
            "initial": 2.0,
            "growth_factor": 2.0,
            "backoff_factor": 0.5,
            "growth_interval": 3,
        }
        linear = {"name": "linear", "peak": 1.0, "warmup_steps": 2, "total_steps": 9}
        adamw = {
            "name": "adamw",
            "learning_rate": 0.1,
            "beta1": 0.9,
            "beta2": 0.99,
            "epsilon": 1e-8,
            "weight_decay": 0.0,
        }
        faults: list[tuple[str, Any]] = [
            ("accumulation_steps", 0),
            ("accumulation_steps", [{"from_window": 1, "steps": 2}]),
            ("accumulation_steps", [{"from_window": 0, "steps": 2}, {"from_window": 0, "steps": 3}]),
            ("accumulation_steps", []),
            ("world_size", 0),
            ("world_size", 65_537),
            ("gradient_reduction", "average"),
            ("tolerance", {"absolute": -1e-9, "relative": 0.0}),
            ("tolerance", {"absolute": 0.0}),
            ("precision", "fp16"),
            ("tail", "keep"),
            ("clip", {"max_norm": 0.0}),
            ("loss_scale", {"policy": "static", "value": 0.0}),
            ("loss_scale", {**dynamic, "growth_factor": 1.0}),
            ("loss_scale", {**dynamic, "backoff_factor": 1.0}),
            ("loss_scale", {**dynamic, "growth_interval": 0}),
            ("loss_scale", {**dynamic, "hysteresis": 0}),
            ("loss_scale", {**dynamic, "minimum": 4.0}),
            ("loss_scale", {**dynamic, "maximum": 1.0}),
            ("loss_scale", {"policy": "dynamic"}),
            ("scheduler", {"name": "step"}),
            ("scheduler", {"name": "recorded", "ticks": 0}),
            ("scheduler", {**linear, "warmup_steps": 10}),
            ("scheduler", {**linear, "name": "cosine", "floor": 2.0}),
            ("scheduler", {"name": "linear", "peak": 1.0}),
            ("optimizer", {**adamw, "beta1": 1.0}),
            ("optimizer", {**adamw, "momentum": 0.9}),
            ("optimizer", {"name": "lion"}),
            ("gradient_basis", {"kind": "sketch", "dimension": 4}),
            ("gradient_basis", {"kind": "coordinates", "dimension": 4, "seed": 1}),
            ("gradient_basis", {"kind": "coordinates", "dimension": 0}),
            ("gradient_basis", {"kind": "complete", "dimension": 2**20 + 1}),
            ("unobserved", ["clip", "clip"]),
            ("unobserved", ["backward"]),
            ("require", "weights"),
            ("on_skip", {"scheduler": "stay"}),
            ("software", {"torch": 2}),
            ("software", {"torch": "2" * 129}),
            ("ignore_index", -100.0),
            ("epochs", 3),
        ]
        check_contract({**CONTRACT, "loss_scale": dynamic, "scheduler": linear, "optimizer": adamw})
        for field, value in faults:
            with self.subTest(field=field, value=value), self.assertRaises(Refused) as raised:
                check_contract({**CONTRACT, field: value})
            self.assertIn(f"contract.{field}", str(raised.exception))

    def test_several_ranks_need_a_reduction(self) -> None:
        with self.assertRaises(Refused):
            check_contract({**CONTRACT, "world_size": 2})
        check_contract({**CONTRACT, "world_size": 2, "gradient_reduction": "mean"})

    def test_a_missing_field_is_refused(self) -> None:
        for field in CONTRACT:
            with self.subTest(field), self.assertRaises(Refused):
                check_contract({name: value for name, value in CONTRACT.items() if name != field})


if __name__ == "__main__":
    unittest.main()
