"""Nsight Compute, the clocks left alone: gpu__time_duration of a call's kernels, added up; L2 cold, its default.

ncu runs kernels one by one, so it has no span. Marked calls after a warm-up are profiled, the rest runs freely.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.truth.calls import Spins, real
from benchmarks.truth.rows import Row, write

NAME = "ncu"
COLUMNS = (NAME,)
MARK = "mark"  # the kernel of spin.cu before each call
CALLS = 3
COMMAND = (
    "ncu", "--clock-control", "none", "--profile-from-start", "off", "--metrics", "gpu__time_duration.sum",
    "--csv", "--print-units", "base",
)  # fmt: skip
US = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3}


def read(text: str, names: list[str]) -> list[Row]:
    """Rows from ncu's CSV, whose other lines are passed over; `names` are the calls, each marked CALLS times."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    kernels = [(row["Kernel Name"], _us(row)) for row in csv.DictReader(io.StringIO("\n".join(lines)))]
    calls = _split(kernels)
    if len(calls) != CALLS * len(names):
        raise ValueError(f"{len(calls)} of {CALLS * len(names)} calls in what ncu wrote")
    return [_row(name, calls[CALLS * at : CALLS * (at + 1)]) for at, name in enumerate(names)]


def _row(name: str, calls: list[list[float]]) -> Row:
    times_us = [sum(call) for call in calls if call]
    return {
        "call": name,
        NAME: round(median(times_us), 3) if times_us else "no kernel: ncu does not see copies",
    }


def _split(kernels: list[tuple[str, float]]) -> list[list[float]]:
    calls: list[list[float]] = []
    for name, time_us in kernels:
        if name.partition("(")[0] == MARK:
            calls.append([])
        elif calls:
            calls[-1].append(time_us)
    return calls


def _us(row: dict[str, str]) -> float:
    return float(row["Metric Value"].replace(",", "")) * US[row["Metric Unit"]]


def profiled(packages: str, place: Path) -> None:
    """What runs under ncu."""
    import torch

    sys.path[:0] = [packages]
    spins = Spins(place)
    calls = {**spins.calls(), **real()}
    for call in calls.values():
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    for call in calls.values():
        for _ in range(CALLS):
            spins.mark()
            call()
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
    place.with_suffix(".names").write_text(json.dumps(list(calls)), encoding="utf-8")


def main(packages: str, place: Path) -> None:
    file = place.with_suffix(".csv")
    inside = [sys.executable, "-m", "benchmarks.truth.ncu", packages, place, "profiled"]
    subprocess.run([*COMMAND, "--log-file", file, *inside], check=True)
    names = json.loads(place.with_suffix(".names").read_text(encoding="utf-8"))
    for row in read(file.read_text(encoding="utf-8"), names):
        write(place, row)


if __name__ == "__main__":
    (profiled if "profiled" in sys.argv else main)(sys.argv[1], Path(sys.argv[2]))
