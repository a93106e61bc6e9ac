"""What every timer says of the same calls, from the file of benchmarks/truth: who is off, by how much and why."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from workbench.showing.shown import Shown
from workbench.strict_json import object_in
from workbench.untrusted import number, objects, plain

Row = dict[str, Any]
CLOCK = "by the GPU's clock"
OURS = "ours"
READS = {
    OURS: "CUPTI's records, by torch's profiler: from a kernel's start to its end",
    "cupti-python": "the same records, by another reader",
    "ours: events": "events, launched while the GPU is still busy: without the host, with the events",
    "cuda-bench (nvbench)": "events after a blocking kernel: without the host, with the events",
    "ncu": "each kernel alone and added up: no overlap, no gaps",
    "flashinfer bench_gpu_time, CUPTI": "CUPTI's records; the GPU waits for each launch, so gaps are in the span",
    "triton do_bench": "events after a flush alone: with the host, where launching takes longer",
    "flashinfer bench_gpu_time": "events after a flush alone: with the host, where launching takes longer",
    "triton do_bench_cudagraph": "replays in a row: the L2 cache stays warm",
}  # fmt: skip
WITHIN = 0.01
EMPTY = "No {}: `python -m benchmarks.truth` makes one on a machine with a GPU."


def truth(file: str | Path) -> Shown:
    """Every timer on the same calls in one sitting; microseconds."""
    stored, heads = object_in(Path(file)), (CLOCK, *READS)
    rows = tuple(
        (plain(row.get("call", "")), *(_us(number(row, name)) for name in heads)) for row in _rows(stored)
    )
    words = f"{plain(stored.get('gpu', ''))}, {plain(stored.get('date', ''))}: medians in us; - where none was taken"
    note = "; ".join(_why_not(_rows(stored)))
    return Shown(
        words, ("call", *heads), rows, EMPTY.format(Path(file).name), f"No figure: {note}." if note else ""
    )


def off(file: str | Path) -> Shown:
    """Each timer against the GPU's own clock, and against ours on real calls."""
    rows = _rows(object_in(Path(file)))
    known, real = [row for row in rows if number(row, CLOCK)], [row for row in rows if not number(row, CLOCK)]
    told = tuple((name, *_above(known, name), _ratios(real, name), why) for name, why in READS.items())
    heads = (
        "timer",
        "above the GPU's clock, us",
        "within 1 % from",
        "real calls, against ours",
        "what it reads",
    )
    return Shown("Who is off, and why", heads, told if rows else (), EMPTY.format(Path(file).name))


def readers(file: str | Path) -> Shown:
    """Two readers of CUPTI's records: what each says of known lengths, and what it costs host and call."""
    stored = object_in(Path(file))
    clock = {str(row.get("call")): number(row, CLOCK) for row in _rows(stored)}
    told = [row for row in objects(stored.get("readers")) if row.get("reader")]
    rows = tuple(
        _reader(name, [row for row in told if row["reader"] == name], clock)
        for name in dict.fromkeys(str(row["reader"]) for row in told)
    )
    heads = (
        "reader", "calls", "lost", "above the GPU's clock, us", "first use, ms", "host, ms a sample: without",
        "with records", "the call by events moves by, us",
    )  # fmt: skip
    note = "Medians over the calls; the last column has the median and the largest. Without: before CUPTI was loaded."
    return Shown(
        "Who reads CUPTI's records",
        heads,
        rows,
        "No reader of CUPTI's records is stored: `python -m benchmarks.truth` compares two.",
        note,
    )


def _reader(name: str, told: Sequence[Row], clock: dict[Any, float | None]) -> tuple[str, ...]:
    calls = [row for row in told if row.get("call")]
    above = [
        span - known
        for row in calls
        if (span := number(row, "span_us")) is not None and (known := clock.get(str(row["call"])))
    ]
    moved = [after - before for before, after in _pairs(calls, "events_us", "events_us_recorded")]
    host = list(zip(*_pairs(calls, "ms_a_sample", "ms_a_sample_recorded"), strict=True)) or [(), ()]
    first = next((at for row in told if (at := number(row, "first_ms")) is not None), None)
    widest = max(moved, key=abs, default=None)
    return (
        plain(name), str(len(calls)), str(sum("lost" in row for row in calls)), _range(above, "{:.2f}"),
        _us(first), *(_us(median(each) if each else None) for each in host),
        f"{median(moved):+.2f}, {widest:+.2f}" if widest is not None else "-",
    )  # fmt: skip


def _above(known: Sequence[Row], name: str) -> tuple[str, str]:
    pairs = sorted(_pairs(known, CLOCK, name))
    close = [abs(told / true - 1) <= WITHIN for true, told in pairs]
    first = next((at for at in range(len(close)) if all(close[at:])), None)
    above = _range([told - true for true, told in pairs], "{:.2f}")
    return above, "-" if first is None else f"{pairs[first][0]:.0f} us"


def _ratios(real: Sequence[Row], name: str) -> str:
    if name == OURS:
        return "-"
    return _range([100 * (told / ours - 1) for ours, told in _pairs(real, OURS, name)], "{:+.1f} %")


def _pairs(rows: Iterable[Row], one: str, other: str) -> list[tuple[float, float]]:
    found = [(number(row, one), number(row, other)) for row in rows]
    return [(first, second) for first, second in found if first and second is not None]


def _range(values: Sequence[float], how: str) -> str:
    if not values:
        return "-"
    return " to ".join(dict.fromkeys(how.format(each) for each in (min(values), max(values))))


def _why_not(rows: Sequence[Row]) -> Iterable[str]:
    """A timer's words where it has no figure, said once with the calls they are of."""
    calls: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name in READS:
            if isinstance(row.get(name), str):
                calls.setdefault((name, plain(row[name], 120)), []).append(plain(row.get("call", "")))
    for (name, why), of in calls.items():
        yield f"{name}, {'all calls' if len(of) == len(rows) else ', '.join(of)}: {why}"


def _us(value: float | None) -> str:
    return f"{value:.4g}" if value is not None else "-"


def _rows(stored: Row) -> list[Row]:
    return objects(stored.get("rows"))
