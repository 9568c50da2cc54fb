"""What the tests share: a loss that needs no PyTorch, a contract, a folder, and the files of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path
from typing import Any, Optional

REPOSITORY = Path(__file__).resolve().parents[2]
FIXTURES = REPOSITORY / "fixtures"

CONTRACT: dict[str, Any] = {
    "formula": "token-mean/1",
    "accumulation_steps": 2,
    "world_size": 1,
    "tail": "flush",
    "tolerance": {"absolute": 1e-6, "relative": 1e-5},
    "precision": "float32",
}


class Loss(float):
    """A scalar with a backward."""

    def backward(self, retain_graph: Optional[bool] = None) -> None:
        """Nothing to do."""


class InFolder(unittest.TestCase):
    """Has a folder of its own for each test."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "rank-0.jsonl"
        # Few tests need a scheduler; what is said about that is tested for itself.
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "the contract declares a scheduler")

    def lines(self) -> list[Any]:
        """The manifest's lines, the header first; the file must end with a newline."""
        data = self.path.read_bytes()
        self.assertTrue(data.endswith(b"\n"))
        return [json.loads(line) for line in data.splitlines()]

    def events(self) -> list[Any]:
        """The manifest's events."""
        return self.lines()[1:]


def names(events: list[Any]) -> list[str]:
    """The events' names, in order."""
    return [event if isinstance(event, str) else next(iter(event)) for event in events]


def window(recorder: Any, counts: list[int], *, clear: bool = True) -> None:
    """One right window of a loop that has no PyTorch: every target costs 0.5."""
    for count in counts:
        loss_sum = 0.5 * count
        recorder.backward(Loss(loss_sum / sum(counts)), valid_targets=count, loss_sum=loss_sum)
    recorder.optimizer_step(learning_rate=0.1)
    if recorder.contract.get("scheduler"):
        recorder.scheduler_step(0.1)
    if clear:
        recorder.zero_grad()


def receipt_program() -> Optional[str]:
    """The `receipt` program: what RECEIPT names, what was built here, or what is on the path."""
    built = REPOSITORY / "target" / "release" / "receipt"
    return os.environ.get("RECEIPT") or (str(built) if built.exists() else shutil.which("receipt"))


def verify(*arguments: Any) -> tuple[int, str]:
    """Exit code and output of `receipt verify`.

    Raises:
        unittest.SkipTest: there is no program; build it with cargo, or name it in RECEIPT.
    """
    program = receipt_program()
    if program is None:
        raise unittest.SkipTest("no receipt program: build it with `cargo build --release`, or name it in RECEIPT")
    ran = subprocess.run([program, "verify", *map(str, arguments)], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr
