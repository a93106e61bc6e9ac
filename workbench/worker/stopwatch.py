"""Times a call. Ours, and the same for every version: a library's own timer changes with the library.

On a GPU the figure is the device's span by CUPTI's records; CUDA events around the same call are the second
opinion, and the first where the records are not complete or CUPTI is not to be had. Both with the L2 cache
overwritten before each call, or `warm`. Host-inclusive time is a figure of its own. `timer` is what was used.

Where several ranks time one call they make the same number of calls in the same order, or the last would wait
for ever: whatever decides how many is agreed among them.
"""

import contextlib
import time

from . import activity, ranks

# At least and at most so many samples, the noise at which to stop, and the wall limit in seconds.
EFFORTS = {
    "quick": (20, 40, 0.01, 1.5),
    "default": (30, 200, 0.005, 5.0),
    "thorough": (50, 400, 0.002, 20.0),
}
KEPT_SAMPLES = 200
WARM_UP_S, WARM_UP_AGAIN_S = 0.05, 0.02
BATCH = 25
HOST_CALLS = 10
LONGEST_SPIN_US = 3000.0
CYCLES_A_US = 2000  # at the 1.4 to 2 GHz of these GPUs; a spin that is too long costs time alone


def measure(call, device, effort, l2="cold", again=False):
    """Facts in microseconds; `again` is a later visit, which needs no second opinion and little warm-up."""
    if device == "cpu":
        return _facts(
            "host_clock", *_until_quiet(lambda: [_host_once(call) for _ in range(BATCH)], effort), l2="n/a"
        )
    return _on_gpu(call, effort, l2, again)


def get_ready():
    """Open the device and CUPTI's records, which takes a process more than a second the first time."""
    import torch

    block = torch.zeros(1, device="cuda")
    with contextlib.suppress(
        activity.Lost, RuntimeError, ImportError, AttributeError
    ):  # told when it is timed
        activity.samples(block.zero_, _spin(1.0), block.zero_, 1)


def events_us(call):
    """Median of CUDA events around a call that is launched while the GPU is still busy, L2 cold."""
    _warm_up(call)
    flush, _ = _flush("cold")
    samples, _, _ = _until_quiet(lambda: _events(flush, _spin(30.0), call), "quick")
    return round(_median(samples), 3)


def _spin(spin_us):
    """Keeps the GPU busy for about so long, so that the host's launches are waiting when it ends."""
    import torch

    cycles = int(spin_us * CYCLES_A_US)
    return lambda: torch.cuda._sleep(cycles)


def _on_gpu(call, effort, l2, again):
    _warm_up(call, WARM_UP_AGAIN_S if again else WARM_UP_S)
    host_us = _median([_host_once(lambda: _and_wait(call)) for _ in range(HOST_CALLS)])
    launch_us = _median([_launch(call) for _ in range(HOST_CALLS)])
    flush, flush_bytes = _flush(l2)
    spin_us = ranks.largest(min(1.5 * launch_us + 20.0, LONGEST_SPIN_US))
    spin = _spin(spin_us)
    facts = {
        "host_median_us": round(host_us, 3),
        "launch_us": round(launch_us, 3),
        "spin_us": round(spin_us, 1),
    }
    facts.update(l2=l2, flush_bytes=flush_bytes)
    if not again:
        events, _, _ = _until_quiet(lambda: _events(flush, spin, call), "quick")
        facts["events_median_us"] = round(_median(events), 3)
    try:
        timed = _Recorded(flush, spin, call)
        return {**_facts("cupti", *_until_quiet(timed.batch, effort)), **facts, **timed.facts()}
    except activity.Lost as problem:
        samples = _until_quiet(lambda: _events(flush, spin, call), effort)
        return {**_facts("cuda_events", *samples), **facts, "no_cupti": str(problem)[:200]}


class _Recorded:
    """Batches of CUPTI samples, and what all of them have in common."""

    def __init__(self, flush, spin, call):
        self.work, self.busy, self.kernels = (flush, spin, call), [], None

    def batch(self):
        found, lost = _samples_or_why_not(*self.work)
        if not ranks.all_say(not lost):
            raise activity.Lost(lost or "another rank has none")
        self.busy += [sample["busy_us"] for sample in found]
        self.kernels = found[-1]["kernels"]
        return [sample["span_us"] for sample in found]

    def facts(self):
        return {"busy_median_us": round(_median(self.busy), 3), "kernels": self.kernels}


def _samples_or_why_not(flush, spin, call):
    try:
        found = activity.samples(flush, spin, call, BATCH)
    except (activity.Lost, RuntimeError, ImportError, AttributeError) as problem:
        return [], str(problem) or type(problem).__name__
    return found, "" if all(sample["kernels"] for sample in found) else "a call without a kernel"


def _until_quiet(batch, effort):
    """Samples until the median is known to the wanted noise, or a cap is met; and which of them ended it."""
    least, most, wanted, wall_s = EFFORTS[effort]
    samples: list[float] = []
    last = time.perf_counter() + wall_s
    while True:
        samples += batch()
        if len(samples) >= least and ranks.largest(noise(samples)) <= wanted:
            return samples, noise(samples), "noise"
        if len(samples) >= most:
            return samples, noise(samples), "samples"
        if ranks.largest(time.perf_counter() > last):
            return samples, noise(samples), "time"


def noise(samples):
    """How well the median is known: about its standard error, from the quartiles, as a share of it."""
    ordered = sorted(samples)
    spread = (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / 1.349
    median = _quantile(ordered, 0.5)
    return 1.2533 * spread / len(samples) ** 0.5 / median if median else 0.0


def _flush(l2):
    import torch

    if l2 == "warm":
        block = torch.empty(1, dtype=torch.int8, device="cuda")  # the records need a flush, if of one byte
        return block.zero_, 1
    size = 2 * torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    block = torch.empty(size, dtype=torch.int8, device="cuda")
    return block.zero_, size


def _events(flush, spin, call):
    import torch

    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(BATCH)]
    for start, end in pairs:
        flush()
        spin()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def _warm_up(call, seconds=0.02):
    import torch

    end = time.perf_counter() + seconds
    for _ in range(2000):
        call()
        torch.cuda.synchronize()
        if ranks.largest(time.perf_counter() > end):
            break


def _launch(call):
    """Microseconds until the host has launched the call, whether or not it has run."""
    import torch

    torch.cuda.synchronize()
    return _host_once(call)


def _host_once(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def _and_wait(call):
    import torch

    call()
    torch.cuda.synchronize()


def _facts(timer, samples, quiet, ended, **more):
    ordered = sorted(samples)
    quarters = {f"{name}_us": round(_quantile(ordered, at), 3) for name, at in QUARTERS}
    kept = [round(sample, 3) for sample in samples[:KEPT_SAMPLES]]
    how = {"noise": round(quiet, 5), "ended_by": ended}
    return {"timer": timer, "samples_us": kept, "taken": len(samples), **quarters, **how, **more}


QUARTERS = (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75))


def _median(samples):
    return _quantile(sorted(samples), 0.5)


def _quantile(ordered, at):
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
