"""Device time from CUPTI's activity records, read through torch's profiler, which every environment has.

Each sample is `flush, spin, call`: the flush empties the L2 cache, the spin kernel keeps the GPU busy while the
host launches the call, so that what is seen afterwards is the device's own time without the host's gaps. In
the records the spin kernels are the marks between samples, and the record before each is its flush.
"""

import itertools

MARK = "spin_kernel"  # what torch.cuda._sleep launches


class Lost(Exception):
    """The records do not show every sample; the caller falls back on events and says so."""


def samples(flush, spin, call, count):
    """For each of `count` calls: span and busy microseconds, and the names of the kernels that ran.

    The span is from the first kernel's start to the last one's end, busy the union of their times.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as watched:
        for _ in range(count):
            flush()
            spin()
            call()
        flush()
        spin()  # closes the last sample
        torch.cuda.synchronize()
    parts = split(records(watched))
    if len(parts) != count:
        raise Lost(f"{len(parts)} of {count} calls in the records")
    return [one(part) for part in parts]


def records(watched):
    """(start_ns, end_ns, name) of all that ran on the device, in order."""
    from torch.autograd import DeviceType

    found = []
    for event in watched.profiler.kineto_results.events():
        if event.device_type() == DeviceType.CUDA:
            start = event.start_ns()
            found.append((start, start + event.duration_ns(), event.name()))
    return sorted(found)


def split(found):
    """The records between two marks, without the flush before the second; empty parts are calls that ran nothing."""
    marks = [place for place, (_, _, name) in enumerate(found) if MARK in name]
    return [found[first + 1 : second - 1] for first, second in itertools.pairwise(marks)]


def one(part):
    if not part:
        return {"span_us": 0.0, "busy_us": 0.0, "kernels": []}
    start, end = part[0][0], max(stop for _, stop, _ in part)
    busy, reached = 0, start
    for begin, stop, _ in part:
        busy += max(0, stop - max(begin, reached))
        reached = max(reached, stop)
    return {
        "span_us": (end - start) / 1e3,
        "busy_us": busy / 1e3,
        "kernels": [name[:200] for *_, name in part],
    }
