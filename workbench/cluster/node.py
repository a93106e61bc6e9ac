"""What a job must know of the node it is on: its number, its GPU, and whether it is alone with its block."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from workbench import gpus

from .blocks import Block

LOCK_WAIT_S = 120.0


def job_number() -> str:
    return os.environ.get("SLURM_JOB_ID") or f"local-{os.getpid()}"


def visible_gpu() -> int:
    """The driver's index of the GPU that the engine has given us: the driver shows all, whatever was allotted.

    For a name that no GPU has it is one past the last: none is better than another's.
    """
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if first.isdigit():
        return int(first)
    for index in range(64 if first else 0):
        gpu = gpus.here(index)
        if gpu is None or gpu.uuid.startswith(first):
            return index
    return 0


def unfit(block: Block, gpu: gpus.Gpu | None) -> str:
    """Why the block cannot run on this GPU; empty where it can."""
    if not block.on_gpu or (gpu and gpu.family == block.family):
        return ""
    return f"the node has {gpu.name if gpu else 'no GPU'}, and {block.family} was asked for"


@contextlib.contextmanager
def alone(lines: Path) -> Iterator[bool]:
    """One job a block, as far as the disk has locks; without them, each start still has files of its own.

    False where an earlier start may still be at work, on a node that was taken for lost.
    """
    lines.mkdir(parents=True, exist_ok=True)
    handle = os.open(lines / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    last, locked = time.monotonic() + LOCK_WAIT_S, False
    try:
        while time.monotonic() < last:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                locked = True
                break
            except BlockingIOError:
                time.sleep(0.2)
            except OSError:
                break
        yield locked
    finally:
        os.close(handle)
