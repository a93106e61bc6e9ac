"""Times a call. Ours, and the same for every version: a library's own timer changes with the library.

On a GPU: CUDA events around each call, the L2 cache overwritten before it. Events see the gaps which a slow
host leaves, so an eager call of a few microseconds is timed too long; `timer` says which was used.
"""

import time

EFFORTS = {"quick": (20, 0.1, 2.0), "default": (50, 0.3, 5.0), "thorough": (100, 1.0, 20.0)}
MOST_SAMPLES = 200
WARM_UP_CALLS = 5
BATCH = 10
HOST_CALLS = 10


def measure(call, device, mode, effort):
    """Facts in microseconds. `effort` names at least how many samples, seconds of them, and the wall limit."""
    least, busy_s, wall_s = EFFORTS[effort]
    if device == "cpu":
        samples = _host(call, least, busy_s, wall_s)
        return _facts("host_clock", samples, None, "n/a", 0)
    return _on_gpu(call, mode, least, busy_s, wall_s)


def _host(call, least, busy_s, wall_s):
    call()
    samples: list[float] = []
    end = time.perf_counter() + busy_s
    last = time.perf_counter() + wall_s
    while (len(samples) < least or time.perf_counter() < end) and time.perf_counter() < last:
        samples.append(_host_once(call))
        if len(samples) >= MOST_SAMPLES:
            break
    return samples


def _host_once(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def _on_gpu(call, mode, least, busy_s, wall_s):
    import torch

    cache = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    flush = torch.empty(2 * cache, dtype=torch.int8, device="cuda")
    for _ in range(WARM_UP_CALLS):
        call()
    samples: list[float] = []
    last = time.perf_counter() + wall_s
    while time.perf_counter() < last and len(samples) < MOST_SAMPLES:
        samples += _event_batch(call, flush)
        if len(samples) >= least and sum(samples) >= busy_s * 1e6:
            break
    host = [_host_once(lambda: _and_wait(call)) for _ in range(HOST_CALLS)]
    timer = "cuda_events" if mode == "eager" else "graph_replay_events"
    return _facts(timer, samples, _quantile(sorted(host), 0.5), "cold", 2 * cache)


def _and_wait(call):
    import torch

    call()
    torch.cuda.synchronize()


def _event_batch(call, flush):
    import torch

    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(BATCH)]
    for start, end in pairs:
        flush.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in pairs]


def _facts(timer, samples, host_us, l2, flush_bytes):
    ordered = sorted(samples)
    quarters = {f"{name}_us": round(_quantile(ordered, at), 3) for name, at in QUARTERS}
    return {
        "timer": timer,
        "samples_us": [round(sample, 3) for sample in samples],
        "taken": len(samples),
        **quarters,
        "host_median_us": host_us and round(host_us, 3),
        "l2": l2,
        "flush_bytes": flush_bytes,
    }


QUARTERS = (("min", 0.0), ("q1", 0.25), ("median", 0.5), ("q3", 0.75))


def _quantile(ordered, at):
    place = at * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
