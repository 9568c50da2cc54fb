"""Records ``fixtures/recorder`` again, by running the examples.

    python recorder/record_fixtures.py [GLOB]

What needs Transformers is named after the installed version, so that several can be recorded one after another. Files
that are there are replaced. What each must give stands in ``fixtures/recorder/expected.json`` and is not touched.
"""

from __future__ import annotations

import fnmatch
import importlib.util
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures" / "recorder"
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


def cases() -> dict[str, tuple[str, list[str]]]:
    """Fixture -> (package needed, arguments of Python). ``OUT`` is the fixture; a folder where it has no suffix."""
    found: dict[str, tuple[str, list[str]]] = {}
    plain = ["mean-of-means", "tail-divided-by-k", "zero-inside", "zero-forgotten", "scheduler-per-microbatch"]
    plain += ["clip-per-microbatch", "step-per-microbatch", "killed"]
    found["plain-correct.jsonl"] = ("torch", ["plain.py", "OUT"])
    for fault in plain:
        found[f"plain-{fault}.jsonl"] = ("torch", ["plain.py", "--fault", fault, "OUT"])
    for fault in ("correct", "mean-of-means", "zero-inside"):
        options = [] if fault == "correct" else ["--fault", fault]
        found[f"vectors-{fault}.jsonl"] = ("torch", ["plain.py", "--evidence", "8", *options, "OUT"])
    found["amp-correct.jsonl"] = ("torch", ["amp.py", "OUT"])
    found["amp-fused.jsonl"] = ("torch", ["amp.py", "--fused", "OUT"])
    for fault in ("unscale-early", "clip-scaled", "scheduler-on-skip", "not-scaled"):
        found[f"amp-{fault}.jsonl"] = ("torch", ["amp.py", "--fault", fault, "OUT"])
    found["ddp-correct"] = ("torch", ["ddp.py", "OUT"])
    for fault in ("local-count", "world-size-lost", "never-sync", "all-sync", "forward-outside"):
        found[f"ddp-{fault}"] = ("torch", ["ddp.py", "--fault", fault, "OUT"])
    if version := installed("transformers"):
        name = f"transformers-{version}"
        found[f"{name}.jsonl"] = ("transformers", ["hf_trainer.py", "OUT"])
        found[f"{name}-recomputed.jsonl"] = ("transformers", ["hf_trainer.py", "--numerator", "recomputed", "OUT"])
        found[f"{name}-two-epochs.jsonl"] = (
            "transformers",
            ["hf_trainer.py", "--epochs", "2", "--logging-steps", "3", "OUT"],
        )
        smoothed = ["hf_trainer.py", "--label-smoothing", "0.1", "OUT"]
        found[f"{name}-label-smoothing.jsonl"] = ("transformers", smoothed)
        classes = ["hf_trainer.py", "--classifier", "--numerator", "recomputed", "OUT"]
        found[f"{name}-classifier.jsonl"] = ("transformers", classes)
        found[f"{name}-ddp"] = ("transformers", [*TORCHRUN, "hf_trainer.py", "OUT/rank-{rank}.jsonl"])
    if version := installed("accelerate"):
        name = f"accelerate-{version}"
        found[f"{name}-naive.jsonl"] = ("accelerate", ["accelerate_loop.py", "OUT"])
        found[f"{name}-corrected.jsonl"] = ("accelerate", ["accelerate_loop.py", "--corrected", "OUT"])
        loop = [*TORCHRUN, "accelerate_loop.py", "--corrected"]
        found[f"{name}-corrected-ddp"] = ("accelerate", [*loop, "OUT/rank-{rank}.jsonl"])
        found[f"{name}-one-tick-ddp"] = ("accelerate", [*loop, "--one-tick", "OUT/rank-{rank}.jsonl"])
    if version := installed("lightning"):
        name = f"lightning-{version}"
        found[f"{name}.jsonl"] = ("lightning", ["lightning_loop.py", "OUT"])
        scaled = ["lightning_loop.py", "--numerator", "scaled-loss", "OUT"]
        found[f"{name}-scaled-loss.jsonl"] = ("lightning", scaled)
        found[f"{name}-manual.jsonl"] = ("lightning", ["lightning_loop.py", "--manual", "OUT"])
        found[f"{name}-corrected.jsonl"] = ("lightning", ["lightning_loop.py", "--corrected", "OUT"])
    return found


def installed(package: str) -> str | None:
    """Its version, or None."""
    return metadata.version(package) if importlib.util.find_spec(package) else None


def main() -> None:
    wanted = sys.argv[1] if len(sys.argv) > 1 else "*"
    for name, (package, arguments) in cases().items():
        if not fnmatch.fnmatch(name, wanted) or installed(package) is None:
            continue
        code = record(name, arguments)
        print(f"{name}: {'killed' if code < 0 else code}", flush=True)


def record(name: str, arguments: list[str]) -> int:
    """Runs what records one fixture; its exit code."""
    out = FIXTURES / name
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    (out.parent if out.suffix == ".jsonl" else out).mkdir(parents=True, exist_ok=True)
    command = [
        str(HERE / "examples" / argument) if argument.endswith(".py") else argument.replace("OUT", str(out))
        for argument in arguments
    ]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    quiet = subprocess.DEVNULL
    return subprocess.run([sys.executable, "-W", "ignore", *command], env=environment, stdout=quiet).returncode


if __name__ == "__main__":
    main()
