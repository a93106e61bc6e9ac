"""Our stopwatch and seven others on the same calls in one sitting, into one file.

    python -m benchmarks.truth FOLDER_OF_PACKAGES truth.json

The folder holds FlashInfer, triton_kernels, cuda-bench and cupti-python. Needs a GPU, nvcc, ncu, torch and triton.
Each tool that wants a process of its own has one; one that fails leaves its last words in its columns. The file is
written anew after each, so that what is there stays.
"""

import contextlib
import importlib
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.truth import rows
from benchmarks.truth.joining import joined
from workbench import gpus

LIMITS_S = {"timers": 120, "cupti": 60, "nvbench": 60, "ncu": 90}
VERSIONS = (
    "torch", "triton", "flashinfer-python", "triton-kernels-of-sglang-kernel", "cuda-bench", "cupti-python",
    "nvidia-cuda-cupti",
)  # fmt: skip
ROOT = Path(__file__).parents[2]


def main(packages: str, target: Path) -> int:
    folder = Path(tempfile.mkdtemp(prefix="truth-"))
    columns = {tool: importlib.import_module(f"benchmarks.truth.{tool}").COLUMNS for tool in LIMITS_S}
    told, failed, took_s = {}, {}, {}
    for tool, limit_s in LIMITS_S.items():
        began = time.monotonic()
        why = run(tool, packages, folder, limit_s)
        told[tool], took_s[tool] = rows.read(folder / tool), round(time.monotonic() - began, 1)
        if why:
            failed[tool] = why
        print(f"{tool}: {took_s[tool]} s, {len(told[tool])} rows. {why}", file=sys.stderr, flush=True)
        found = {**where(packages), "took_s": took_s, **joined(columns, told, failed)}
        target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 2 if not found["rows"] else 0


def run(tool: str, packages: str, folder: Path, limit_s: float) -> str:
    """Why it failed; empty where it did not. All that it started ends with it."""
    log = folder / f"{tool}.log"
    words = [
        sys.executable,
        "-m",
        f"benchmarks.truth.{tool}",
        str(Path(packages).resolve()),
        str(folder / tool),
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(
            words, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return f"not done after {limit_s} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return f"exit {code}: {last_words(log)}" if code else ""


def last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "nothing said"


def where(packages: str) -> rows.Row:
    gpu = gpus.here()
    paths = [packages, *sys.path]
    found = {each: next(importlib.metadata.distributions(name=each, path=paths), None) for each in VERSIONS}
    return {
        "gpu": gpu.name if gpu else "",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {name: each.version for name, each in found.items() if each},
    }


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
