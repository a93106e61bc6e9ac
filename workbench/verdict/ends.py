"""How a trial ended on one side: what fault it shows, in how many processes, or why nothing is known. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb

from workbench.results import Outcome, Result, Standing
from workbench.untrusted import normalised

NOTHING_SAID = frozenset({"channel_corrupted", "oom_host"})
"""Reasons that are of this machine, though their outcomes speak of the kernel."""
CHANCE = (
    0.05  # a fault of some processes is new where the other side would have hidden it less often than that
)
# What an installer says where the index was reached and has no such thing; all else that stops it is of the machine.
NO_SUCH = re.compile(
    r"there is no version|no version of|was not found|no matching|not a supported wheel|no solution|unsatisfiable"
    r"|are incompatible|depends? on|requires-python|requires python|has no wheels|no wheels? (?:with|for)",
    re.IGNORECASE,
)
REFUSED = (Outcome.UNSUPPORTED, Outcome.MISSING, Outcome.NOT_EXERCISED, Outcome.NOT_BUILT)
SILENT = (Outcome.WRONG, Outcome.IMPLAUSIBLE)


@dataclass(frozen=True)
class End:
    """`faults` of `processes` ended as `result` shows; no process at all where nothing is known of the kernel."""

    result: Result
    processes: int
    faults: int
    each: tuple[bool, ...] = ()  # whether it had a fault, process by process as they are stored

    @property
    def known(self) -> bool:
        return self.processes > 0

    @property
    def right(self) -> bool:
        return self.known and not self.faults

    @property
    def fault(self) -> tuple[str, ...]:
        """The same for the same fault: outcome, reason, stage, and the kernel that a fault was traced to."""
        traced = self.result.forensic.get("fault")
        kernel = str(traced.get("kernel") or "") if isinstance(traced, dict) else ""
        return str(self.result.outcome), self.result.reason, self.result.stage, kernel

    @property
    def word(self) -> str:
        """`wrong`, `wrong in 2 of 5 processes`, `not run (missing_cubin)`."""
        shown, reason = str(self.result.outcome).replace("_", " "), self.result.reason
        if not self.known:
            return f"{shown} ({reason})" if reason != self.result.outcome else shown
        return f"{shown} in {self.faults} of {self.processes} processes" if self.flaky else shown

    @property
    def flaky(self) -> bool:
        return 0 < self.faults < self.processes


def end(attempts: Sequence[Result]) -> End | None:
    """Of the attempts at one trial in one environment, reruns left out; None where there are none."""
    planned = [each for each in attempts if not each.rerun]
    if not planned:
        return None
    newest = Standing.of(planned).result
    alike = [each for each in planned if each.attempt > 0 and _version(each) == _version(newest)]
    told = [each for each in alike if not of_the_machine(each)]
    processes = _processes(told)
    faulty = [each for each in told if each.outcome != Outcome.OK]
    shown = (faulty or told or alike or [newest])[-1]
    return End(shown, len(processes), sum(processes.values()), tuple(processes.values()))


def of_the_machine(result: Result) -> bool:
    """Whether the attempt says nothing of the kernel: not run, not installed for want of a network, no memory left."""
    if result.outcome == Outcome.NOT_BUILT:
        return NO_SUCH.search(result.detail) is None or "folder of wheels" in result.detail
    slow_build = result.outcome == Outcome.HUNG and result.stage in ("install", "build")
    return result.outcome == Outcome.NOT_RUN or result.reason in NOTHING_SAID or slow_build


def same_fault(before: End, after: End) -> bool:
    """A kernel that only one side was traced to tells nothing."""
    one, other = before.fault, after.fault
    return one[:3] == other[:3] and (one[3] == other[3] or not (one[3] and other[3]))


def worse(before: End, after: End) -> bool:
    """Whether a different fault harms more: a refusal that became a failure, or either that became a wrong answer."""
    return _harm(after.result.outcome) > _harm(before.result.outcome)


def more_often(before: End, after: End) -> bool | None:
    """Whether the second side really fails more often; None where too few processes of the first can tell.

    Where the first never failed: by the chance that it would not have, at the second's rate. Else by Fisher's exact
    test, which says no where it cannot tell: the fault is there on both sides.
    """
    if not before.faults:
        rate = after.faults / after.processes
        return True if (1 - rate) ** before.processes <= CHANCE else None
    faults, every = before.faults + after.faults, before.processes + after.processes
    orders = comb(every, faults)
    most = min(faults, after.processes)
    chance = sum(
        comb(after.processes, count) * comb(before.processes, faults - count) / orders
        for count in range(after.faults, most + 1)
    )
    return chance <= CHANCE


def message(result: Result) -> tuple[str, ...]:
    """The same for all that failed alike, whatever addresses and numbers it said."""
    return str(result.outcome), result.reason, result.stage, normalised(result.detail)


def _harm(outcome: Outcome) -> int:
    return 2 if outcome in SILENT else 0 if outcome in REFUSED else 1


def _version(result: Result) -> tuple[str, str]:
    return result.kernel_hash, result.environment_hash


def _processes(attempts: Iterable[Result]) -> dict[tuple[object, ...], bool]:
    """Process -> whether it had a fault: visits of one generation are one process."""
    found: dict[tuple[object, ...], bool] = {}
    for each in attempts:
        alone = 0 if each.generation else each.attempt
        key = (each.run, each.arm, each.generation, alone)
        found[key] = found.get(key, False) or each.outcome != Outcome.OK
    return found
