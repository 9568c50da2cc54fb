"""The examples, run again: each gives the verdict that is expected of its fixture.

Takes minutes and needs PyTorch, and the framework for some; so only with EXAMPLES=1 (or a pattern: EXAMPLES='amp*').
"""

from __future__ import annotations

import fnmatch
import importlib.util
import json
import os
import subprocess
import sys
import unittest

from .support import FIXTURES, REPOSITORY, InFolder, names, verify

WANTED = os.environ.get("EXAMPLES", "")


def module():
    """recorder/record_fixtures.py."""
    found = importlib.util.spec_from_file_location("record_fixtures", REPOSITORY / "recorder" / "record_fixtures.py")
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


@unittest.skipUnless(WANTED, "set EXAMPLES=1 to run the examples; they need PyTorch, and some a framework")
class Examples(InFolder):
    def test_every_example_gives_its_verdict(self) -> None:
        expected = json.loads((FIXTURES / "recorder" / "expected.json").read_text())["cases"]
        record = module()
        ran = 0
        for case in expected:
            name = case["path"]
            package, arguments = record.cases().get(name, (None, []))
            if package is None or record.installed(package) is None:
                continue  # Of another version of the framework, or of one that is not installed.
            if not fnmatch.fnmatch(name, "*" if WANTED == "1" else WANTED):
                continue
            with self.subTest(name):
                record.FIXTURES = self.folder
                record.record(name, arguments)
                out = self.folder / name
                files = sorted(out.iterdir()) if out.is_dir() else [out]
                partial = ["--partial"] if case.get("partial") else []
                # As the fixtures are judged; a replay would repeat what is found as GA701.
                code, printed = verify("--format", "json", "--no-replay", *partial, *files)
                receipt = json.loads(printed)
                codes = sorted({finding["code"] for finding in receipt["findings"]})
                recipes = (receipt.get("diagnosis") or {}).get("recipes", [])
                print(f"{name}: exit {code}, {' '.join(codes) or 'no finding'}; {' '.join(recipes) or 'no diagnosis'}")
                self.assertEqual((code, codes), (case["exit"], case["codes"]))
                self.assertIn(case["recipe"], recipes or [None])
                for file in files:
                    kept = FIXTURES / "recorder" / file.relative_to(self.folder)
                    self.assertEqual(names(self.read(file)), names(self.read(kept)))
                ran += 1
        self.assertGreater(ran, 0)

    @staticmethod
    def read(path) -> list:
        return [json.loads(line) for line in path.read_text().splitlines()[1:]]


if __name__ == "__main__":
    unittest.main()
