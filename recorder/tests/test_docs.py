"""What `docs/recording.md` shows: its first program runs and is verified, and every name that it uses is there."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import unittest
from typing import Any
from unittest import mock

import accumulation_receipt
from accumulation_receipt import Recorder, contract_for

from .support import REPOSITORY, InFolder, verify

DOCUMENTS = [REPOSITORY / "docs" / "recording.md", REPOSITORY / "README.md"]


def programs() -> list[str]:
    """The Python blocks, in order."""
    return [block for path in DOCUMENTS for block in re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)]


class Documents(InFolder):
    def test_every_call_of_the_recorder_takes_what_is_shown(self) -> None:
        import inspect

        calls = 0
        for program in programs():
            for node in ast.walk(ast.parse(program)):
                if not isinstance(node, ast.Call):
                    continue
                function = node.func
                if isinstance(function, ast.Attribute) and getattr(function.value, "id", None) == "recorder":
                    shown = inspect.signature(getattr(Recorder, function.attr))
                    positional = [None, *node.args]
                elif isinstance(function, ast.Name) and function.id in accumulation_receipt.__all__:
                    shown = inspect.signature(getattr(accumulation_receipt, function.id))
                    positional = list(node.args)
                else:
                    continue
                with self.subTest(ast.unparse(node)):
                    shown.bind(*positional, **{keyword.arg: None for keyword in node.keywords})
                    calls += 1
        self.assertGreater(calls, 15)

    def test_the_inline_calls_are_methods(self) -> None:
        text = "".join(path.read_text() for path in DOCUMENTS)
        methods = set(re.findall(r"`recorder\.(\w+)", text))
        self.assertGreater(len(methods), 8)
        for method in methods:
            self.assertTrue(hasattr(Recorder, method), method)

    def test_every_framework_of_the_table_has_a_preset(self) -> None:
        table = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]*\|$", DOCUMENTS[0].read_text(), re.MULTILINE)
        named = [name for name in table if name in text_of_presets()]
        self.assertEqual(sorted(named), sorted(text_of_presets()))
        for name in named:
            contract_for(name, "1.0.0", accumulation_steps=2)

    def test_the_files_that_are_named_are_there(self) -> None:
        for path in DOCUMENTS:
            for target in re.findall(r"\]\((?!http)([^)#]+)", path.read_text()):
                self.assertTrue((path.parent / target).exists(), f"{path.name}: {target}")

    def test_the_first_program_runs_and_is_verified(self) -> None:
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("this needs PyTorch: pip install torch")
        program = programs()[0]
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(None):
                exec(compile(program, "recording.md", "exec"), {})
        finally:
            os.chdir(before)
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)
        self.assertIn("2 windows, 6 microbatches", printed)


class Engine:
    """What the program for DeepSpeed calls: an engine that steps at each second call, and skips its second update."""

    def __init__(self) -> None:
        self.calls, self.rate, self.applied = 0, 0.1, True

    def backward(self, loss: Any) -> None:
        pass

    def is_gradient_accumulation_boundary(self) -> bool:
        return self.calls % 2 == 1

    def get_lr(self) -> list[float]:
        return [self.rate]

    def was_step_applied(self) -> bool:
        return self.applied

    def step(self) -> None:
        self.applied = self.calls != 3
        if self.is_gradient_accumulation_boundary() and self.applied:
            self.rate /= 2
        self.calls += 1


class Divided(float):
    """A loss."""

    def detach(self) -> float:
        return float(self)


class Shown(InFolder):
    """The programs for frameworks that are not run here, with stand-ins for what they call."""

    @staticmethod
    def program(start: str) -> str:
        return next(program for program in programs() if program.startswith(start))

    def test_deepspeed(self) -> None:
        contract = contract_for("deepspeed", "0.19.8", accumulation_steps=2, world_size=1)
        engine, program = Engine(), self.program("engine.backward")
        with Recorder(self.path, contract) as recorder:
            for targets in (3, 3, 4, 4, 2, 2):
                given = {"targets": targets, "loss_sum": 0.5 * targets, "loss": Divided(0.5), "steps": 2}
                exec(program, {"engine": engine, "recorder": recorder, **given})
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)
        self.assertIn("3 windows, 6 microbatches, 18 valid targets; 2 updates applied", printed)

    def test_megatron(self) -> None:
        loss_function, step = self.program("recorder.record_backward"), self.program('rate = optimizer')
        for per_token in (False, True):
            declared = {"formula": "token-mean/1", "gradient_reduction": "sum"} if per_token else {}
            contract = contract_for("megatron", "0.16.1", accumulation_steps=2, world_size=2, **declared)
            paths = [self.folder / f"{per_token}-{rank}.jsonl" for rank in range(2)]
            for rank, path in enumerate(paths):
                self.record_megatron(path, contract, rank, per_token, loss_function, step)
            code, printed = verify(*paths)
            self.assertEqual(code, 0, printed)
            self.assertIn("3 windows, 12 microbatches, 48 valid targets; 2 updates applied", printed)

    @staticmethod
    def record_megatron(
        path: Any, contract: Any, rank: int, per_token: bool, loss_function: str, step: str
    ) -> None:
        group = {"lr": 0.1}
        optimizer = mock.Mock(param_groups=[group])
        scheduler = mock.Mock()
        scheduler.step.side_effect = lambda increment: group.update(lr=group["lr"] / 2)
        with Recorder(path, contract, rank=rank) as recorder:
            for stepped in (True, False, True):
                recorder.zero_grad()
                for count in (3, 5):
                    loss_sum = (0.5 + rank) * count
                    if per_token:
                        recorder.record_backward(valid_targets=count, loss_sum=loss_sum, backward_loss=loss_sum)
                    else:
                        given = {"count": count, "loss_sum": loss_sum, "microbatches": 2}
                        exec(loss_function, {"recorder": recorder, **given})
                if per_token:
                    recorder.rescale(1 / 16)
                optimizer.step.return_value = (stepped, 0.5 if stepped else None, None)
                given = {"optimizer": optimizer, "opt_param_scheduler": scheduler, "increment": 4}
                exec(step, {"recorder": recorder, **given})


def text_of_presets() -> list[str]:
    from accumulation_receipt.presets import _PRESETS

    return list(_PRESETS)


if __name__ == "__main__":
    unittest.main()
