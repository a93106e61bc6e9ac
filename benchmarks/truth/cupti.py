"""cupti-python, in a process of its own (CUPTI has one user a process); then FlashInfer's timer over it."""

import sys
from pathlib import Path

from benchmarks.truth import records
from benchmarks.truth.calls import Spins, real
from benchmarks.truth.rows import tried, write
from benchmarks.truth.timers import bench_gpu_time

FLASHINFER = "flashinfer bench_gpu_time, CUPTI"
COLUMNS = ("cupti-python", FLASHINFER)


def main(packages: str, place: Path) -> None:
    sys.path[:0] = [packages]
    calls = {**Spins(place).calls(), **real()}
    records.compare("cupti-python", records.by_cupti, calls, place)
    from cupti import cupti

    cupti.finalize()  # as FlashInfer leaves it after each call of its timer
    for name, call in calls.items():
        write(place, {"call": name, **tried(FLASHINFER, lambda call=call: bench_gpu_time(call, cupti=True))})


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
