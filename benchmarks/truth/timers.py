"""The timers that live in one process: ours, Triton's two, and FlashInfer's as it is without cupti-python."""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.truth import records
from benchmarks.truth.calls import Call, Spins, real
from benchmarks.truth.rows import Row, tried, write

CLOCK = "by the GPU's clock"
OURS = {"ours": "median_us", "ours: events": "events_median_us", "ours: busy": "busy_median_us"}


def do_bench(call: Call) -> float:
    from triton.testing import do_bench

    return do_bench(call, return_mode="median") * 1e3


def do_bench_cudagraph(call: Call) -> float:
    import torch
    from triton.testing import do_bench_cudagraph

    with torch.cuda.stream(torch.cuda.Stream()):
        return do_bench_cudagraph(call, return_mode="median") * 1e3


def bench_gpu_time(call: Call, cupti: bool = False) -> float:
    from flashinfer.testing import bench_gpu_time

    return statistics.median(bench_gpu_time(call, enable_cupti=cupti)) * 1e3


THEIRS: dict[str, Callable[[Call], float]] = {
    "triton do_bench": do_bench,
    "triton do_bench_cudagraph": do_bench_cudagraph,
    "flashinfer bench_gpu_time": bench_gpu_time,
}
COLUMNS = (*OURS, *THEIRS)


def ours(call: Call) -> Row:
    from workbench.worker import stopwatch

    facts = stopwatch.measure(call, "cuda", "default")
    found = {name: facts.get(key, facts.get("no_cupti")) for name, key in OURS.items()}
    return {**found, **{key: facts[key] for key in ("timer", "noise", "taken")}}


def main(packages: str, place: Path) -> None:
    sys.path[:0] = [packages]
    spins = Spins(place)
    spinning = spins.calls()
    calls = {**spinning, **real()}
    records.compare("torch profiler", records.by_torch, calls, place)
    for name, call in calls.items():
        row = {"call": name, **ours(call)}
        if name in spinning:
            row[CLOCK] = spins.took_us()
        for column, timer in THEIRS.items():
            row |= tried(column, lambda timer=timer, call=call: timer(call))
        write(place, row)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
