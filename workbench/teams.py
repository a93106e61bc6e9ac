"""Several ranks as one worker: a process each under its own guard, run, judged and ended together.

Rank 0 goes first: what must be compiled is compiled once, and the others are called when it is ready to meet
them. One rank that fails leaves the others waiting for ever, so its end is the end of all; the trial is judged
by the rank that failed first, and not by those that saw it go.
"""

import os
import queue
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.workers import LIMITS_S, Told, Worker

GRACE_S = 3.0  # for the others to end by themselves once a rank has failed; then they are ended
APART = ("import", "find", "build")  # stages in which a rank needs no other
STAGES = tuple(LIMITS_S)
GONE = re.compile(
    r"connection (was )?(closed|reset|refused)|broken pipe|closed by (the )?(remote )?peer|remote process exited"
    r"|ncclRemoteError|ncclSystemError|socket(Poll|Progress|TryRecv|Recv)|watchdog|timed? ?out"
    r"|DistNetworkError|store.{0,40}(closed|broken)",
    re.IGNORECASE,
)
"""What a rank says that has lost another one."""


@dataclass(frozen=True)
class Size:
    """`ranks` take part, each on a GPU of its own; `bystanders` only belong to the same world."""

    ranks: int
    bystanders: int = 0

    @property
    def world(self) -> int:
        return self.ranks + self.bystanders


@dataclass
class _End:
    """How a rank's part of a trial ended, and when."""

    rank: int
    told: Told
    at: float
    stopped: bool = False  # by us, because another one had failed

    @property
    def failed(self) -> bool:
        return self.told.end not in ("done", "stopped") or self.told.worker_over

    @property
    def leaves_others_waiting(self) -> bool:
        return self.failed or self.told.end == "stopped"

    @property
    def lost_another(self) -> bool:
        said = str(self.told.facts.get("exception", {}).get("message", ""))
        return bool(GONE.search(said or self.told.stderr))


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
        return replace(_told(ends, self.size), worker_over=over)

    def _ends(
        self,
        command: Mapping[str, Any],
        limits_s: Mapping[str, float],
        heard: Callable[[Mapping[str, Any]], None],
    ) -> list[_End]:
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

    def _watched(self, running: Mapping[Future[tuple[Told, float]], int]) -> list[_End]:
        """Wait for all; once one has failed the others have little time left."""
        ends: list[_End] = []
        left, stopped = set(running), False
        while left:
            soon = any(end.leaves_others_waiting for end in ends) and not stopped
            done, left = wait(left, GRACE_S if soon else None, FIRST_COMPLETED)
            if not done:
                self._stop([self.workers[running[each]] for each in left])
                stopped = True
            for each in done:
                told, at = each.result()
                ours = stopped and told.end is None and told.killed is None
                ends.append(_End(running[each], told, at, stopped=ours))
        return ends

    @staticmethod
    def _stop(workers: Sequence[Worker]) -> None:
        with ThreadPoolExecutor(len(workers)) as threads:
            list(threads.map(lambda worker: worker.stop(), workers))

    def close(self, limit_s: float = LIMITS_S["done"]) -> Told:
        """Let all end by themselves, at the same time: the last words of one are heard by the others."""
        with ThreadPoolExecutor(len(self.workers)) as threads:
            told = list(threads.map(lambda worker: worker.close(limit_s), self.workers))
        self._tidy()
        return next((each for each in told if each.killed or each.code not in (0, None)), told[0])

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


def _told(ends: Sequence[_End], size: Size) -> Told:
    """What the trial as a whole told, from what its ranks did."""
    parts = sorted((end for end in ends if end.rank < size.ranks), key=lambda end: end.rank)
    shown = _culprit(ends) or _wrong(parts) or parts[0]
    facts = shown.told.facts if shown.told.end != "done" else _common(parts, shown)
    stdout, stderr = (_by_rank(ends, shown, name) for name in ("stdout", "stderr"))
    bad = shown.told.end != "done" or _is_wrong(shown)
    return replace(
        shown.told, facts=facts, who=_who(ends, shown, size) if bad else "", stdout=stdout, stderr=stderr
    )


def _culprit(ends: Sequence[_End]) -> _End | None:
    """The first in time of those that failed by themselves; who lost another, or waited for one, comes second."""
    failed = [end for end in ends if end.failed and not end.stopped]
    refused = [end for end in ends if end.told.end == "stopped"]
    if not failed:
        return min(refused, key=lambda end: end.at, default=None)
    return min(failed, key=lambda end: (end.lost_another, *_behind(end), end.at))


def _behind(end: _End) -> tuple[int, int]:
    """Who hung in an earlier stage let the others wait in a later one; who died, died before they waited so long."""
    if end.told.killed != "limit":
        return 0, 0
    return 1, STAGES.index(end.told.stage)


def _wrong(parts: Sequence[_End]) -> _End | None:
    return next(filter(_is_wrong, parts), None)


def _is_wrong(end: _End) -> bool:
    checks = [end.told.facts.get(name) for name in ("check", "check_changed")]
    return any(isinstance(check, dict) and not check.get("right") for check in checks)


def _who(ends: Sequence[_End], shown: _End, size: Size) -> str:
    """Ranks that hung in one stage cannot be told apart: all are named, and who was behind them. What all say,
    nobody says."""
    parts = sorted((end for end in ends if end.rank < size.ranks), key=lambda end: end.rank)
    if shown.told.end == "stopped" and all(end.told.end == "stopped" for end in parts):
        return ""
    if shown.told.killed != "limit":
        return f"{_ranks([shown])} of {size.world}"
    hung = [end for end in parts if end.told.killed == "limit" or end.stopped]
    same = [end for end in hung if end.told.stage == shown.told.stage]
    behind = [end for end in hung if STAGES.index(end.told.stage) < STAGES.index(shown.told.stage)]
    waited = f", while {_ranks(behind)} was in {behind[0].told.stage}" if behind else ""
    return f"{_ranks(same)} of {size.world}{waited}"


def _ranks(ends: Sequence[_End]) -> str:
    return f"rank{'s' * (len(ends) > 1)} {', '.join(str(end.rank) for end in ends)}"


def _common(parts: Sequence[_End], shown: _End) -> dict[str, Any]:
    """The facts of one rank, with the time of the slowest, for the call is over when the last one is."""
    times = [end.told.facts["time"] for end in parts if end.told.facts.get("time")]
    if len(times) < len(parts):
        return {name: value for name, value in shown.told.facts.items() if name != "time"}
    slowest = max(times, key=lambda time: time.get("median_us", 0.0))
    by_rank = {"median_us": [time.get("median_us") for time in times]}
    return {**shown.told.facts, "time": {**slowest, "by_rank": by_rank}}


def _by_rank(ends: Sequence[_End], shown: _End, name: str) -> str:
    """What was printed: first that of the rank that is told of, then the others', each under its rank."""
    others = sorted((end for end in ends if end is not shown), key=lambda end: end.rank)
    said = [(end.rank, getattr(end.told, name)) for end in (shown, *others)]
    return "\n".join(f"[rank {rank}]\n{text}" for rank, text in said if text)
