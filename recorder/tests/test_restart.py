"""A run that was killed and goes on with its file: nothing that a saved state has is missing, or going on is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any
from unittest import mock

from accumulation_receipt import Recorder, RecorderError

from .support import CONTRACT, REPOSITORY, InFolder, Loss, names, verify, window

SCALE = {"policy": "dynamic", "initial": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2000}
TICKING = {**CONTRACT, "scheduler": {"name": "recorded"}}
#: What a loop with loss scaling, a scheduler and vectors has between one window's step and the next one's first backward.
BEHIND = ["parameters", "scaler_update", "scheduler_step", "zero_grad", "epoch_end", "evaluation"]


class Killed(InFolder):
    def killed(self, contract: dict[str, Any], body: str) -> None:
        """A process that records ``body`` and is killed then."""
        script = f"""
import os, signal, sys
from accumulation_receipt import Recorder
from tests.support import Loss, window
recorder = Recorder(sys.argv[1], {contract!r})
{body}
os.kill(os.getpid(), signal.SIGKILL)
"""
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "recorder")}
        ran = subprocess.run([sys.executable, "-c", script, str(self.path)], env=environment)
        self.assertEqual(ran.returncode, -signal.SIGKILL)

    def gone_on(self, contract: dict[str, Any], at: int) -> None:
        """Goes on from a state with ``at`` windows, and must be right."""
        with Recorder(self.path, contract, append=True) as recorder:
            recorder.restore(window=at, applied_updates=at)
            recorder.zero_grad()
            window(recorder, [1, 4])
            window(recorder, [2, 2])
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)
        self.assertIn(f"{at + 2} windows, {2 * at + 4} microbatches", printed)
        found = [event["backward"]["microbatch"] for event in self.events() if "backward" in event]
        self.assertEqual(len(found), len(set(found)), "a name is used once")

    def test_without_a_checkpoint_nothing_that_came_before_the_kill_is_missing(self) -> None:
        """The state was saved after a window's tick, and nobody said so."""
        two = "window(recorder, [3, 6])\nwindow(recorder, [1, 4])\n"
        for after in ("", "recorder.backward(Loss(0.5), valid_targets=2, loss_sum=1.0)"):
            for at in (2, 1):
                with self.subTest(after=after, at=at):
                    self.path.unlink(missing_ok=True)
                    self.killed(TICKING, two + after)
                    self.gone_on(TICKING, at)

    def test_what_comes_between_two_windows_is_written_as_it_comes(self) -> None:
        basis = {"kind": "coordinates", "dimension": 1}
        recorder = Recorder(self.path, {**TICKING, "loss_scale": SCALE, "gradient_basis": basis})
        recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
        recorder.clip(1.0, 0.5)
        self.assertEqual(self.events(), [])
        recorder.optimizer_step()
        given = {
            "parameters": {"values": [1.0]},
            "scaler_update": {"loss_scale": 8.0},
            "scheduler_step": {"learning_rate": 0.1},
            "evaluation": {"update": 1},
        }
        for at, event in enumerate(BEHIND, start=1):
            recorder.record(event, **given.get(event, {}))
            self.assertEqual(names(self.events())[3:], BEHIND[:at])
        recorder.close()

    def test_after_a_window_that_was_dropped(self) -> None:
        contract = {**TICKING, "tail": "drop"}
        last = "recorder.backward(Loss(0.5), valid_targets=2, loss_sum=1.0)\nrecorder.drop()\nrecorder.zero_grad()"
        self.killed(contract, f"window(recorder, [3, 6])\n{last}")
        with Recorder(self.path, contract, append=True) as recorder:
            recorder.restore(window=2, applied_updates=1)
            window(recorder, [1, 4])
        self.assertEqual([each["optimizer_step"]["window"] for each in self.events() if "optimizer_step" in each], [0, 2])

    def test_torn_inside_a_write(self) -> None:
        torn = "os.write(recorder._journal._file, b'{\"scheduler_st')"
        self.killed(TICKING, f"window(recorder, [3, 6])\nwindow(recorder, [1, 4])\n{torn}")
        self.gone_on(TICKING, 2)

    def test_nothing_is_recorded_before_the_restore(self) -> None:
        self.killed(TICKING, "window(recorder, [3, 6])")
        with Recorder(self.path, TICKING, append=True) as recorder:
            with self.assertRaisesRegex(RecorderError, "restore"):
                recorder.backward(Loss(0.5), valid_targets=2, loss_sum=1.0)
        self.assertEqual(len(self.events()), 5)

    def test_a_checkpoint_is_on_the_disk_when_it_returns(self) -> None:
        for held in (False, True):
            self.path.unlink(missing_ok=True)
            recorder = Recorder(self.path, TICKING)
            seen: list[list[str]] = []
            with mock.patch("os.fsync", side_effect=lambda file: seen.append(names(self.events()))):
                if held:
                    with recorder.window():
                        window(recorder, [3, 6])
                        recorder.checkpoint(1)
                else:
                    window(recorder, [3, 6])
                    recorder.checkpoint(1)
            self.assertEqual([found[-2:] for found in seen], [["zero_grad", "checkpoint"]])
            recorder.close()


class Later(Killed):
    """The state was saved later than the file was written."""

    def refused(self, contract: dict[str, Any], at: int, what: str) -> None:
        before = self.path.read_bytes()
        with Recorder(self.path, contract, append=True) as recorder:
            with self.assertRaisesRegex(RecorderError, f"{what}.*another file.*checkpoint"):
                recorder.restore(window=at, applied_updates=at)
            self.assertEqual(self.path.read_bytes(), before)

    def test_inside_of_a_window_block(self) -> None:
        self.killed(TICKING, "window(recorder, [3, 6])\nwith recorder.window():\n    window(recorder, [1, 4])\n" + KILL)
        self.refused(TICKING, 2, "window 1 was not recorded to its end")
        self.gone_on(TICKING, 1)

    def test_the_machine_went_down(self) -> None:
        self.killed(TICKING, "window(recorder, [3, 6])\nwindow(recorder, [1, 4])\nrecorder.backward(Loss(1), valid_targets=1, loss_sum=1)")
        whole = self.path.read_bytes().splitlines(keepends=True)
        self.path.write_bytes(b"".join(whole[:-2]))
        self.refused(TICKING, 2, "lacks its scheduler's tick")
        self.gone_on(TICKING, 1)

    def test_only_what_the_contract_has_is_missed(self) -> None:
        step = "recorder.backward(Loss(1), valid_targets=1, loss_sum=1)\nrecorder.optimizer_step({})\n"
        scaled = {**TICKING, "loss_scale": SCALE}
        for contract, applied, after, missing in [
            (TICKING, True, "", "tick"),
            (TICKING, False, "", None),
            ({**TICKING, "on_skip": {"scheduler": "advance"}}, False, "", "tick"),
            (TICKING, True, "recorder.zero_grad()", None),
            (TICKING, True, "recorder.scheduler_step(0.1)", None),
            ({**TICKING, "unobserved": ["scheduler_step"]}, True, "", None),
            ({**TICKING, "scheduler": {"name": "recorded", "interval": "epoch"}}, True, "", None),
            ({**TICKING, "scheduler": {"name": "recorded", "position": "before"}}, True, "", None),
            (CONTRACT, True, "", None),
            (scaled, True, "", "scaler update"),
            (scaled, True, "recorder.scaler_update(8.0)", "tick"),
            ({**scaled, "unobserved": ["scaler_update"]}, False, "", None),
            ({**scaled, "loss_scale": {"policy": "static", "value": 8.0}}, False, "", None),
        ]:
            with self.subTest(contract=contract, applied=applied, after=after):
                self.path.unlink(missing_ok=True)
                with Recorder(self.path, contract) as recorder:
                    exec(step.format(applied) + after, {"recorder": recorder, "Loss": Loss})
                if missing:
                    self.refused(contract, 1, missing)
                else:
                    with Recorder(self.path, contract, append=True) as recorder:
                        recorder.restore(window=1, applied_updates=int(applied))

    def test_in_the_same_process(self) -> None:
        with Recorder(self.path, TICKING) as recorder:
            window(recorder, [3, 6])
            window(recorder, [3, 6])
            with self.assertRaisesRegex(RecorderError, "window 2 was not recorded"):
                recorder.restore(window=3, applied_updates=3)
            recorder.restore(window=1, applied_updates=1)
            window(recorder, [1, 4])
            recorder.backward(Loss(0.5), valid_targets=2, loss_sum=1.0)
            recorder.restore(window=2, applied_updates=2)
            with self.assertRaisesRegex(RecorderError, "no window is open"):
                recorder.drop()
            window(recorder, [2, 2])
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)


class Joined(InFolder):
    """A new file that begins in the middle of a run."""

    def test_a_new_file_begins_with_a_restore(self) -> None:
        with Recorder(self.path, TICKING) as recorder:
            recorder.restore(window=7, applied_updates=7)
            window(recorder, [3, 6])
            recorder.checkpoint(8)
        code, printed = verify(self.path)
        self.assertEqual(code, 0, printed)

    def test_a_loop_that_counts_its_windows_restores_where_it_must(self) -> None:
        def run(at: int, append: bool = False) -> list[Any]:
            before = len(self.events()) if self.path.exists() else 0
            with Recorder(self.path, TICKING, append=append) as recorder:
                recorder.begin_at(at)
                window(recorder, [3, 6])
                recorder.begin_at(0)  # A second training in one process goes on.
                window(recorder, [3, 6])
            return [event["restore"] for event in self.events()[before:] if "restore" in event]

        self.assertEqual(run(0), [])
        self.assertEqual(run(1, append=True), [{"window": 1, "applied_updates": 1}])
        self.assertEqual(verify(self.path)[0], 0)
        self.path.unlink()
        self.assertEqual(run(7), [{"window": 7, "applied_updates": 7}])
        self.assertEqual(verify(self.path)[0], 0)


KILL = "    os.kill(os.getpid(), signal.SIGKILL)"
