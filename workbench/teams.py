"""Several ranks as one worker: a process each under its own guard, run, judged and ended together.

Rank 0 goes first: what must be compiled is compiled once, and the others are called when it is ready to meet
them. One rank that fails leaves the others waiting for ever, so its end is the end of all.
"""

import os
import queue
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.ends import End, Size, told
from workbench.workers import LIMITS_S, Told, Worker

GRACE_S = 3.0  # for the others to end by themselves once a rank has failed; then they are ended
APART = ("import", "find", "build")  # stages in which a rank needs no other


class Team:
    """As a Worker for who runs it: `run`, `close`, `kill`. `start` makes a worker with some more variables."""

    def __init__(self, start: Callable[[Mapping[str, str]], Worker], size: Size):
        self.size = size
        self.folder = Path(tempfile.mkdtemp(prefix="workbench-ranks-"))
        meeting = f"file://{self.folder / secrets.token_hex(8)}"
        self.workers = [start(_variables(rank, size, meeting)) for rank in range(size.world)]

    def run(
        self,
        command: Mapping[str, Any],
        limits_s: Mapping[str, float] = LIMITS_S,
        heard: Callable[[Mapping[str, Any]], None] = lambda facts: None,
    ) -> Told:
        """Do one trial on all ranks; never raises for what they do."""
        try:
            ends = self._ends(command, limits_s, heard)
        except BaseException:
            self.kill()
            raise
        alone = len(ends) == 1  # it failed before the others were called
        over = any(end.told.worker_over or (end.failed and not alone) or end.stopped for end in ends)
        if over:
            self.kill()
        return replace(told(ends, self.size), worker_over=over)

    def _ends(
        self,
        command: Mapping[str, Any],
        limits_s: Mapping[str, float],
        heard: Callable[[Mapping[str, Any]], None],
    ) -> list[End]:
        ready: queue.SimpleQueue[bool] = queue.SimpleQueue()

        def first_heard(facts: Mapping[str, Any]) -> None:
            if facts.get("stage") not in APART:
                ready.put(True)
            heard(facts)

        first, *others = self.workers
        with ThreadPoolExecutor(len(self.workers)) as threads:
            try:
                leading = threads.submit(_ended, first, command, limits_s, first_heard)
                leading.add_done_callback(lambda done: ready.put(False))
                running = {leading: 0}
                for rank, worker in enumerate(others if ready.get() else [], start=1):
                    running[threads.submit(_ended, worker, command, limits_s)] = rank
                return self._watched(running)
            except BaseException:
                self._stop(self.workers)
                raise

    def _watched(self, running: Mapping[Future[tuple[Told, float]], int]) -> list[End]:
        """Wait for all; once one has failed the others have little time left."""
        ends: list[End] = []
        left, stopped = set(running), False
        while left:
            soon = any(end.leaves_others_waiting for end in ends) and not stopped
            done, left = wait(left, GRACE_S if soon else None, FIRST_COMPLETED)
            if not done:
                self._stop([self.workers[running[each]] for each in left])
                stopped = True
            for each in done:
                part, at = each.result()
                ours = stopped and part.end is None and part.killed is None
                ends.append(End(running[each], part, at, stopped=ours))
        return ends

    @staticmethod
    def _stop(workers: Sequence[Worker]) -> None:
        with ThreadPoolExecutor(len(workers)) as threads:
            list(threads.map(lambda worker: worker.stop(), workers))

    def close(self, limit_s: float = LIMITS_S["done"]) -> Told:
        """Let all end by themselves, at the same time: the last words of one are heard by the others."""
        with ThreadPoolExecutor(len(self.workers)) as threads:
            parts = list(threads.map(lambda worker: worker.close(limit_s), self.workers))
        self._tidy()
        return next((each for each in parts if each.killed or each.code not in (0, None)), parts[0])

    def kill(self) -> None:
        for worker in self.workers:
            worker.kill()
        self._tidy()

    def _tidy(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _ended(worker: Worker, *how: Any) -> tuple[Told, float]:
    return worker.run(*how), time.monotonic()


def _variables(rank: int, size: Size, meeting: str) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size.world),
        "WORKBENCH_RANKS": str(size.ranks),
        "WORKBENCH_MEETING": meeting,
        "GLOO_SOCKET_IFNAME": os.environ.get("GLOO_SOCKET_IFNAME", "lo"),  # all are on this machine
    }
