"""What a trial of several ranks told as a whole, from how each of them ended. Pure.

It is judged by the rank that failed first and by its own words, and not by those that saw it go: they lose a
connection, or wait.
"""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.workers import LIMITS_S, Told

STAGES = tuple(LIMITS_S)
GONE = re.compile(
    r"connection (was )?(closed|reset|refused)|broken pipe|closed by (the )?(remote )?peer|remote process exited"
    r"|ncclRemoteError|ncclSystemError|socket(Poll|Progress|TryRecv|Recv)|watchdog|timed? ?out"
    r"|connectFullMesh failed|DistNetworkError|store.{0,40}(closed|broken)",
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
class End:
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
    def died(self) -> bool:
        """By a signal, or with its guard; who has lost another one aborts at most."""
        unsaid = self.told.end is None and self.told.killed is None
        code = self.told.code
        return unsaid and (code is None or (code < 0 and code != -signal.SIGABRT))

    @property
    def lost_another(self) -> bool:
        if self.died:
            return False
        said = str(self.told.facts.get("exception", {}).get("message", ""))
        return bool(GONE.search(said or self.told.stderr))


def told(ends: Sequence[End], size: Size) -> Told:
    """What the trial as a whole told, from what its ranks did; `own` is what the one it tells of has printed."""
    parts = sorted((end for end in ends if end.rank < size.ranks), key=lambda end: end.rank)
    shown = _culprit(ends) or _wrong(parts) or parts[0]
    facts = shown.told.facts if shown.told.end != "done" else _common(parts, shown)
    stdout, stderr = (_by_rank(ends, shown, name) for name in ("stdout", "stderr"))
    own = {name: _own(shown, name) for name in ("stdout", "stderr")}
    bad = shown.told.end != "done" or _is_wrong(shown)
    who = _who(ends, shown, size) if bad else ""
    return replace(shown.told, facts=facts, who=who, own=own, stdout=stdout, stderr=stderr)


def _culprit(ends: Sequence[End]) -> End | None:
    """The first in time of those that failed by themselves; who lost another, or waited for one, comes second.

    One that was ended from outside is no peer's doing, whatever the peers say of it.
    """
    failed = [end for end in ends if end.failed and not end.stopped]
    refused = [end for end in ends if end.told.end == "stopped"]
    if not failed:
        return min(refused, key=lambda end: end.at, default=None)
    return min(
        failed, key=lambda end: (not end.told.ended_from_outside, end.lost_another, *_behind(end), end.at)
    )


def _behind(end: End) -> tuple[int, int]:
    """Who hung in an earlier stage let the others wait in a later one; who died, died before they waited so long."""
    if end.told.killed != "limit":
        return 0, 0
    return 1, STAGES.index(end.told.stage)


def _wrong(parts: Sequence[End]) -> End | None:
    return next(filter(_is_wrong, parts), None)


def _is_wrong(end: End) -> bool:
    checks = [end.told.facts.get(name) for name in ("check", "check_changed")]
    return any(isinstance(check, dict) and not check.get("right") for check in checks)


def _who(ends: Sequence[End], shown: End, size: Size) -> str:
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


def _ranks(ends: Sequence[End]) -> str:
    return f"rank{'s' * (len(ends) > 1)} {', '.join(str(end.rank) for end in ends)}"


def _common(parts: Sequence[End], shown: End) -> dict[str, Any]:
    """The facts of one rank, with the time of the slowest, for the call is over when the last one is."""
    times = [end.told.facts["time"] for end in parts if end.told.facts.get("time")]
    if len(times) < len(parts):
        return {name: value for name, value in shown.told.facts.items() if name != "time"}
    slowest = max(times, key=lambda time: time.get("median_us", 0.0))
    by_rank = {"median_us": [time.get("median_us") for time in times]}
    return {**shown.told.facts, "time": {**slowest, "by_rank": by_rank}}


def _own(shown: End, name: str) -> str:
    """What it printed; who died did so of its own cause, though it may have seen others go or come late."""
    text: str = getattr(shown.told, name)
    return "\n".join(line for line in text.splitlines() if not (shown.died and GONE.search(line)))


def _by_rank(ends: Sequence[End], shown: End, name: str) -> str:
    """What was printed: first that of the rank that is told of, then the others', each under its rank."""
    others = sorted((end for end in ends if end is not shown), key=lambda end: end.rank)
    said = [(end.rank, getattr(end.told, name)) for end in (shown, *others)]
    return "\n".join(f"[rank {rank}]\n{text}" for rank, text in said if text)
