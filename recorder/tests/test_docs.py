"""What `docs/recording.md` shows: its first program runs and is verified, and every name that it uses is there."""

from __future__ import annotations

import ast
import contextlib
import os
import re
import unittest

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


def text_of_presets() -> list[str]:
    from accumulation_receipt.presets import _PRESETS

    return list(_PRESETS)


if __name__ == "__main__":
    unittest.main()
