"""CUPTI's records by torch's profiler and by cupti-python: what each says of a call, and what it costs.

A sample is what our stopwatch takes: L2 flushed, a spin kernel, the call; with a pair of events around the call. It
is taken with and without records, so that what the records cost the host and the call can be seen. Without first:
CUPTI, once there, stays in its process.
"""

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.truth.calls import Call
from benchmarks.truth.rows import Row, write
from workbench.worker import activity, stopwatch

BATCHES, BATCH = 4, 25
Records = list[tuple[int, int, str]]
"""Start and end in ns, name; in order."""
Reader = Callable[[Callable[[], None]], Records]


def by_torch(run: Callable[[], None]) -> Records:
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        run()
    return activity.records(watched)


def by_cupti(run: Callable[[], None]) -> Records:
    from cupti import cupti

    found: Records = []
    kinds = [cupti.ActivityKind.CONCURRENT_KERNEL, cupti.ActivityKind.MEMCPY, cupti.ActivityKind.MEMSET]

    def completed(activities: list) -> None:
        found.extend((each.start, each.end, str(getattr(each, "name", ""))) for each in activities)

    for kind in kinds:
        cupti.activity_enable(kind)
    cupti.activity_register_callbacks(lambda: (8 * 2**20, 0), completed)
    run()
    cupti.activity_flush_all(0)
    for kind in kinds:
        cupti.activity_disable(kind)
    return sorted(found)


class Samples:
    """Batches of samples of one call."""

    def __init__(self, call: Call):
        import torch

        stopwatch._warm_up(call)
        launch_us = median(stopwatch._launch(call) for _ in range(stopwatch.HOST_CALLS))
        self.flush, _ = stopwatch._flush("cold")
        self.spin = stopwatch._spin(min(1.5 * launch_us + 20.0, stopwatch.LONGEST_SPIN_US))
        self.call = call
        self.pairs = [[torch.cuda.Event(enable_timing=True) for _ in "ab"] for _ in range(BATCH)]

    def batch(self) -> None:
        import torch

        for start, end in self.pairs:
            self.flush()
            self.spin()
            start.record()
            self.call()
            end.record()
        self.flush()
        self.spin()  # closes the last sample
        torch.cuda.synchronize()

    def events_us(self) -> list[float]:
        return [start.elapsed_time(end) * 1e3 for start, end in self.pairs]


def compare(reader: str, read: Reader, calls: dict[str, Call], place: Path) -> None:
    """Writes a row of facts a call, under the reader's name; and what the first use of it takes."""
    taken = {name: Samples(call) for name, call in calls.items()}
    before = {name: without(samples) for name, samples in taken.items()}
    began = time.perf_counter()
    read(next(iter(taken.values())).batch)
    write(place, {"reader": reader, "first_ms": round((time.perf_counter() - began) * 1e3, 1)})
    for name, samples in taken.items():
        write(place, {"reader": reader, "call": name, **before[name], **recorded(samples, read)})


def without(samples: Samples) -> Row:
    wall_ms, events_us = _batches(samples.batch, samples)
    return {"ms_a_sample": wall_ms, "events_us": events_us}


def recorded(samples: Samples, read: Reader) -> Row:
    """Span and busy time in us, and the same as without; why there are none, where records are missing."""
    parts: list[list[tuple[int, int, str]]] = []
    wall_ms, events_us = _batches(lambda: parts.extend(activity.split(read(samples.batch))), samples)
    facts: Row = {"ms_a_sample_recorded": wall_ms, "events_us_recorded": events_us, "samples": len(parts)}
    if len(parts) != BATCHES * BATCH or not all(parts):
        return {**facts, "lost": f"{sum(map(bool, parts))} of {BATCHES * BATCH} calls in the records"}
    seen = [activity.one(part) for part in parts]
    return {**facts, **{key: round(median(each[key] for each in seen), 3) for key in ("span_us", "busy_us")}}


def _batches(batch: Callable[[], None], samples: Samples) -> tuple[float, float]:
    """Wall time of a sample in ms, and the events' time of the call in us; medians."""
    wall_ms, events_us = [], []
    for _ in range(BATCHES):
        began = time.perf_counter()
        batch()
        wall_ms.append((time.perf_counter() - began) * 1e3 / BATCH)
        events_us += samples.events_us()
    return round(median(wall_ms), 4), round(median(events_us), 3)
