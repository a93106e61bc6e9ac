"""The cuda-bench package (nvbench): its cold measurement, the median where it has one."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.truth.calls import Call, Spins, real
from benchmarks.truth.rows import Row, write

NAME = "cuda-bench (nvbench)"
COLUMNS = (NAME,)
OF_A_CALL = ("nv/cold/time/gpu/median", "nv/cold/time/gpu/mean")
LIMIT_S = "1"  # for each call; a short one would go on for 15


def read(stored: dict[str, Any]) -> list[Row]:
    """Rows from what `--json` wrote: seconds as text, under tags."""
    return [{"call": each["name"], NAME: _us(each["states"])} for each in stored["benchmarks"]]


def _us(states: list[dict[str, Any]]) -> float | str:
    found = {
        each["tag"]: each["data"][0]["value"] for state in states for each in state.get("summaries") or ()
    }
    for tag in OF_A_CALL:
        if tag in found:
            return round(float(found[tag]) * 1e6, 3)
    return next(
        (str(state["skip_reason"])[:200] for state in states if state.get("skip_reason")), "no time in it"
    )


def register(name: str, call: Call) -> None:
    import torch
    from cuda import bench

    def launch(launched: Any) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(launched.get_stream().addressof())):
            call()

    def run(state: Any) -> None:
        state.exec(launch, batched=False)

    bench.register(run).set_name(name)


def main(packages: str, place: Path) -> None:
    sys.path[:0] = [packages]
    from cuda import bench

    for name, call in {**Spins(place).calls(), **real()}.items():
        register(name, call)
    file = place.with_suffix(".nvbench.json")
    bench.run_all_benchmarks(["truth", "--json", str(file), "--timeout", LIMIT_S])
    for row in read(json.loads(file.read_text(encoding="utf-8"))):
        write(place, row)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
