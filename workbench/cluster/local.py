"""This machine's own queue, where there is no Slurm: one job at a time on the GPU, whoever submitted it.

submitit's local executor starts everything at once and has its own idea of which GPU is visible: it is not used.
"""

import contextlib
import os
import signal
import subprocess
import sys

import psutil

from .submission import Submission

WHERE = "WORKBENCH_CLUSTER_INDEX"


def start(submission: Submission, index: int) -> dict[str, float]:
    """The queue, apart from this terminal: it goes on when whoever submitted has left."""
    with (submission.folder / "queue.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "workbench.cluster.queue", str(submission.file)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, WHERE: str(index)},
        )  # fmt: skip
    return {"pid": process.pid, "created": psutil.Process(process.pid).create_time()}


def alive(queue: dict[str, float]) -> bool:
    """Whether the queue's process is still there, and not another one under its number."""
    with contextlib.suppress(psutil.Error, KeyError, TypeError):
        process = psutil.Process(int(queue["pid"]))
        same = abs(process.create_time() - queue["created"]) < 1
        return same and process.status() != psutil.STATUS_ZOMBIE
    return False


def cancel(queue: dict[str, float]) -> None:
    if alive(queue):
        os.kill(int(queue["pid"]), signal.SIGTERM)
