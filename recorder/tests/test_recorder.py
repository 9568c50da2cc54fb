"""The recorder without PyTorch: windows, order, what is refused, and what a crash or restart leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from accumulation_receipt import Recorder, RecorderError, Refused, limits

from .support import CONTRACT, REPOSITORY, InFolder, Loss, names, verify, window


class Windows(InFolder):
    def test_a_run_is_verified(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            for counts in ([3, 6], [1, 4], [2]):
                window(recorder, counts)
            recorder.epoch_end(5)
        self.assertEqual(verify(self.path)[0], 0)

    def test_events_stand_in_order_with_their_window(self) -> None:
        with Recorder(self.path, CONTRACT, rank=0) as recorder:
            window(recorder, [3, 6])
            window(recorder, [1, 4])
            self.assertEqual((recorder.last_window, recorder.current_window), (1, 2))
        events = self.events()
        self.assertEqual(names(events), ["backward", "backward", "optimizer_step", "zero_grad"] * 2)
        backwards = [event["backward"] for event in events if "backward" in event]
        self.assertEqual([each["window"] for each in backwards], [0, 0, 1, 1])
        self.assertEqual([each["microbatch"] for each in backwards], ["r0-m0", "r0-m1", "r0-m2", "r0-m3"])
        self.assertEqual(events[6], {"optimizer_step": {"window": 1, "outcome": "applied", "learning_rate": 0.1}})
        self.assertEqual(self.lines()[0]["contract"], CONTRACT)

    def test_nothing_is_recorded_after_the_end(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        window(recorder, [3, 6])
        recorder.close()
        whole = self.path.read_bytes()
        for late in (recorder.zero_grad, recorder.optimizer_step, lambda: recorder.record_backward(valid_targets=1)):
            with self.assertRaisesRegex(RecorderError, "is closed"):
                late()
        recorder.close()
        self.assertEqual(self.path.read_bytes(), whole)

    def test_windows_are_counted_here(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            with self.assertRaisesRegex(RecorderError, "microbatch, window: the recorder counts"):
                recorder.record_backward(window=3, microbatch="mine", valid_targets=3, loss_sum=1.0)
            window(recorder, [3, 6])
        self.assertEqual([each["backward"]["window"] for each in self.events() if "backward" in each], [0, 0])

    def test_one_write_a_window(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        with mock.patch("os.write", side_effect=os.write) as write:
            for _ in range(3):
                window(recorder, [3, 6], clear=False)
            self.assertEqual(write.call_count, 3)
            for _ in range(3):
                with recorder.window():
                    window(recorder, [3, 6])
            self.assertEqual(write.call_count, 6)
        recorder.close()

    def test_a_disk_that_takes_a_part_of_a_write(self) -> None:
        written = os.write
        with mock.patch("os.write", side_effect=lambda file, data: written(file, data[:7])):
            with Recorder(self.path, CONTRACT) as recorder:
                window(recorder, [3, 6])
        self.assertEqual(verify(self.path)[0], 0)

    def test_a_window_block_writes_its_scheduler_and_zeroing_with_it(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        with recorder.window():
            window(recorder, [3, 6])
        self.assertEqual(names(self.events())[-1], "zero_grad")
        recorder.close()

    def test_a_window_block_without_a_step_is_an_error(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        with self.assertRaises(RecorderError), recorder.window():
            recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
        with self.assertRaises(RecorderError), recorder.window(), recorder.window():
            pass
        recorder.close()

    def test_an_exception_inside_a_window_is_passed_on_and_what_happened_is_written(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        with self.assertRaises(KeyError), recorder.window():
            recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
            raise KeyError("of the loop")
        self.assertEqual(names(self.events()), ["backward"])
        recorder.close()

    def test_a_second_step_belongs_to_the_window_before(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            window(recorder, [3, 6])
            recorder.optimizer_step()
            window(recorder, [1, 4])
        steps = [event["optimizer_step"]["window"] for event in self.events() if "optimizer_step" in event]
        self.assertEqual(steps, [0, 0, 1])
        code, printed = verify(self.path)
        self.assertEqual(code, 1)
        self.assertIn("GA301", printed)

    def test_a_microbatch_from_the_scaled_loss(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            recorder.backward(Loss(0.5), valid_targets=3, divisor=3)
            with self.assertRaises(RecorderError):
                recorder.backward(Loss(0.5), valid_targets=3)
            with self.assertRaises(RecorderError):
                recorder.backward(Loss(0.5), valid_targets=3, loss_sum=1.0, divisor=2)
            recorder.optimizer_step()
        self.assertEqual(self.events()[0]["backward"]["loss_sum"], 1.5)

    def test_a_skipped_update(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            recorder.backward(Loss(float("inf")), valid_targets=3, loss_sum=1.5)
            recorder.optimizer_step(applied=False)
        backward, step = self.events()
        self.assertEqual(
            backward["backward"], {"window": 0, "microbatch": "r0-m0", "valid_targets": 3, "nonfinite": True}
        )
        self.assertEqual(step["optimizer_step"]["outcome"], "skipped")


class Tails(InFolder):
    def test_a_dropped_window_names_its_microbatches(self) -> None:
        with Recorder(self.path, {**CONTRACT, "tail": "drop"}) as recorder:
            window(recorder, [3, 6])
            recorder.backward(Loss(0.5), valid_targets=4, loss_sum=2.0)
            recorder.drop()
            recorder.zero_grad()
            window(recorder, [1, 4])
        dropped = next(event["drop"] for event in self.events() if "drop" in event)
        self.assertEqual(dropped, {"window": 1, "microbatches": ["r0-m2"], "valid_targets": 4})
        self.assertEqual(recorder.last_window, 2)

    def test_a_window_that_was_written_in_parts_is_dropped_whole_and_alone(self) -> None:
        with Recorder(self.path, {**CONTRACT, "tail": "drop"}) as recorder:
            for _ in range(2):
                recorder.backward(Loss(0.5), valid_targets=4, loss_sum=2.0)
                recorder.checkpoint(0)
            recorder.optimizer_step()
            for _ in range(2):
                recorder.backward(Loss(0.5), valid_targets=5, loss_sum=2.5)
                recorder.checkpoint(1)
            recorder.drop()
        dropped = self.events()[-1]["drop"]
        self.assertEqual(dropped, {"window": 1, "microbatches": ["r0-m2", "r0-m3"], "valid_targets": 10})

    def test_a_carried_window_has_exact_totals(self) -> None:
        with Recorder(self.path, {**CONTRACT, "accumulation_steps": 12, "tail": "carry"}) as recorder:
            for _ in range(10):
                recorder.backward(Loss(0.1), valid_targets=1, loss_sum=0.1)
            recorder.carry(random_state="opaque")
        carried = self.events()[-1]["carry"]
        self.assertEqual(carried["loss_sum"], 1.0)  # Added one by one it would be 0.9999999999999999.
        self.assertEqual((carried["backwards"], carried["valid_targets"]), (10, 10))
        self.assertEqual(verify(self.path)[0], 0)

    def test_what_is_not_finite_cannot_be_carried(self) -> None:
        with Recorder(self.path, {**CONTRACT, "tail": "carry"}) as recorder:
            recorder.backward(Loss(0.1), valid_targets=1, loss_sum=float("nan"))
            with self.assertRaises(Refused):
                recorder.carry()

    def test_without_an_open_window_there_is_nothing_to_drop(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder, self.assertRaises(RecorderError):
            recorder.drop()


class Refusals(InFolder):
    def test_nothing_refused_is_written(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        for wrong in (
            lambda: recorder.backward(Loss(0.5), valid_targets=-1, loss_sum=0.5),
            lambda: recorder.backward(Loss(0.5), valid_targets=1.5, loss_sum=0.5),
            lambda: recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5, text="secret"),
            lambda: recorder.scheduler_step(float("nan")),
            lambda: recorder.logged(loss=1.0, decimals=18),
            lambda: recorder.restore(window=-1, applied_updates=0),
        ):
            with self.assertRaises(Refused):
                wrong()
        window(recorder, [3, 6])
        recorder.close()
        self.assertEqual(names(self.events()), ["backward", "backward", "optimizer_step", "zero_grad"])
        self.assertNotIn(b"secret", self.path.read_bytes())
        self.assertEqual(verify(self.path)[0], 0)

    def test_a_rank_outside_of_the_world(self) -> None:
        for rank in (1, -1):
            with self.assertRaises(Refused):
                Recorder(self.path, CONTRACT, rank=rank)
        self.assertFalse(self.path.exists())

    def test_with_several_ranks_each_backward_says_whether_it_synchronised(self) -> None:
        for number, (unobserved, given, is_right) in enumerate(
            [([], {}, False), ([], {"sync": True}, True), (["sync"], {}, True)]
        ):
            contract = {**CONTRACT, **_TWO, "unobserved": unobserved}
            with Recorder(self.folder / f"{number}.jsonl", contract, rank=1) as recorder:
                if is_right:
                    recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5, **given)
                else:
                    with self.assertRaisesRegex(RecorderError, "sync"):
                        recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5, **given)

    def test_a_window_of_too_many_microbatches(self) -> None:
        with mock.patch.object(limits, "MICROBATCHES_OF_A_WINDOW", 3), Recorder(self.path, CONTRACT) as recorder:
            for _ in range(3):
                recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
            with self.assertRaises(Refused):
                recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)

    def test_a_restore_that_reaches_too_far(self) -> None:
        with Recorder(self.path, CONTRACT) as recorder:
            recorder._window = 2000
            recorder.restore(window=2000 - 1024, applied_updates=0)
            recorder._window = 2000
            with self.assertRaises(Refused):
                recorder.restore(window=2000 - 1025, applied_updates=0)

    def test_evidence_that_is_not_known(self) -> None:
        basis = mock.Mock(basis={"kind": "coordinates", "dimension": 2})
        with self.assertRaises(ValueError):
            Recorder(self.path, CONTRACT, evidence=basis, records=["weights"])
        with self.assertRaises(Refused):
            Recorder(
                self.path,
                {**CONTRACT, "gradient_basis": {"kind": "coordinates", "dimension": 3}},
                evidence=basis,
            )


class Crashes(InFolder):
    def crashed(self, where: str) -> None:
        """A process that is killed in window 2."""
        script = f"""
import os, signal, sys
from pathlib import Path
from accumulation_receipt import Recorder
from tests.support import CONTRACT, Loss, window
recorder = Recorder(Path(sys.argv[1]), CONTRACT)
window(recorder, [3, 6])
recorder.checkpoint(1)
window(recorder, [1, 4])
recorder.backward(Loss(0.5), valid_targets=2, loss_sum=1.0)
if {where!r} == "inside a write":
    os.write(recorder._journal._file, b'{{"backward":{{"window":2,"micro')
os.kill(os.getpid(), signal.SIGKILL)
"""
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "recorder")}
        ran = subprocess.run([sys.executable, "-c", script, str(self.path)], env=environment)
        self.assertEqual(ran.returncode, -signal.SIGKILL)

    def test_a_killed_process_loses_the_open_window_alone(self) -> None:
        for where in ("between events", "inside a write"):
            with self.subTest(where):
                self.path.unlink(missing_ok=True)
                self.crashed(where)
                whole = self.path.read_bytes().rpartition(b"\n")[0].splitlines()[1:]
                steps = [json.loads(line)["optimizer_step"]["window"] for line in whole if b"optimizer_step" in line]
                self.assertEqual(steps, [0, 1])
                code, printed = verify("--partial", self.path)
                self.assertEqual(code, 0, printed)
                self.assertIn("2 windows, 4 microbatches", printed)

    def test_a_file_is_not_overwritten(self) -> None:
        Recorder(self.path, CONTRACT).close()
        before = self.path.read_bytes()
        with self.assertRaises(RecorderError):
            Recorder(self.path, CONTRACT)
        for contract, rank in [({**CONTRACT, "accumulation_steps": 3}, 0), (CONTRACT | _TWO, 1)]:
            with self.assertRaises(RecorderError):
                Recorder(self.path, contract, rank=rank, append=True)
        self.assertEqual(self.path.read_bytes(), before)

    def test_append_begins_a_file_that_is_not_there(self) -> None:
        with Recorder(self.path, CONTRACT, append=True) as recorder:
            window(recorder, [3, 6])
        self.assertEqual(verify(self.path)[0], 0)

    def test_a_forgotten_close_loses_nothing(self) -> None:
        script = """
import sys
from pathlib import Path
from accumulation_receipt import Recorder
from tests.support import CONTRACT, Loss, window
recorder = Recorder(Path(sys.argv[1]), CONTRACT)
window(recorder, [3, 6])
recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
"""
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "recorder")}
        subprocess.run([sys.executable, "-c", script, str(self.path)], env=environment, check=True)
        self.assertEqual(names(self.events())[-1], "backward")

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_forked_worker_writes_nothing(self) -> None:
        recorder = Recorder(self.path, CONTRACT)
        recorder.backward(Loss(0.5), valid_targets=1, loss_sum=0.5)
        child = os.fork()
        if child == 0:
            recorder.zero_grad()
            kept = len(recorder._pending)
            with mock.patch("os.fsync", side_effect=lambda file: os._exit(1)):
                recorder.checkpoint(1)
            recorder.flush()
            recorder.close()
            os._exit(kept - 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0, "the child keeps what it was forked with, and nothing more")
        self.assertEqual(names(self.events()), [])
        recorder.optimizer_step()
        recorder.close()
        self.assertEqual(names(self.events()), ["backward", "optimizer_step"])


_TWO = {"world_size": 2, "gradient_reduction": "mean"}


if __name__ == "__main__":
    unittest.main()
