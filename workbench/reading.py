"""Reads a file that somebody hands in: no more of it than such files hold, and no longer than a pipe's writer takes."""

import os
import select
import time
from pathlib import Path

MOST_BYTES = 256 << 20  # of cases, a plan, a policy, reports: a device has no end
WAIT_S = 60.0  # for all that comes through a pipe, such as <(a command)


def read(file: str | Path, wait_s: float | None = None) -> bytes:
    """All of it. Raises OSError, which names the file: also for what is longer, and for a pipe that nobody writes."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # else a pipe without a writer keeps us here
        try:
            return _all(handle, time.monotonic() + (WAIT_S if wait_s is None else wait_s))
        finally:
            os.close(handle)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from problem


def _all(handle: int, last: float) -> bytes:
    found, coming = bytearray(), select.poll()
    coming.register(handle, select.POLLIN)
    while coming.poll(max(0.0, last - time.monotonic()) * 1000):
        part = os.read(handle, 1 << 20)
        found += part
        if not part:
            return bytes(found)
        if len(found) > MOST_BYTES:
            raise OSError(0, f"it is longer than {MOST_BYTES >> 20} MiB")
    raise OSError(0, "a pipe that nobody writes, or not to its end")
