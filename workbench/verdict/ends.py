"""How a trial ended on one side: what fault it shows, in how many processes, or why nothing is known. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, comb, log, log1p

from workbench.results import Outcome, Result, Standing
from workbench.untrusted import normalised, part

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
HARMS = (0, 1, 2)  # it was refused, it failed, it was wrong without a word
Kind = tuple[str, str, str, str, str]
"""The same for the same fault: outcome, reason, stage, what it said if its reason has no name, the kernel traced."""


@dataclass(frozen=True)
class End:
    """How its processes ended, as `result` shows: of several faults the newest that harms most.

    `each` has the faults of every process, in the order they are stored; it is empty where nothing is known of the
    kernel.
    """

    result: Result
    each: tuple[tuple[Result, ...], ...] = ()

    @property
    def processes(self) -> int:
        return len(self.each)

    @property
    def faults(self) -> int:
        """How many processes had one."""
        return sum(map(bool, self.each))

    @property
    def known(self) -> bool:
        return self.processes > 0

    @property
    def right(self) -> bool:
        return self.known and not self.faults

    def harmed(self, least: int) -> int:
        """How many processes had a fault that harms so much or more."""
        return sum(any(_harm(one.outcome) >= least for one in faults) for faults in self.each)

    def share(self, least: int) -> float:
        """The same as a share of its processes."""
        return self.harmed(least) / max(1, self.processes)

    @property
    def kinds(self) -> set[Kind]:
        return {_kind(one) for faults in self.each for one in faults}

    @property
    def word(self) -> str:
        """`wrong`, `wrong in 2, crashed in 1 of 5 processes`, `not run (missing_cubin)`."""
        shown, reason = _word(self.result), self.result.reason
        if not self.known:
            return f"{shown} ({reason})" if reason != self.result.outcome else shown
        counts = Counter(_word(_worst(faults)) for faults in self.each if faults)
        if list(counts.values()) in ([], [self.processes]):
            return shown
        listed = ", ".join(f"{word} in {count}" for word, count in counts.most_common())
        return f"{listed} of {self.processes} processes"

    @property
    def flaky(self) -> bool:
        return 0 < self.faults < self.processes


def end(attempts: Sequence[Result]) -> End | None:
    """Of the attempts at one trial in one environment, reruns left out; None where there are none."""
    planned = [each for each in attempts if not each.rerun]
    if not planned:
        return None
    newest = Standing.of(planned).result
    alike = [each for each in planned if each.attempt > 0 and same_version(each, newest)]
    told = [each for each in alike if not of_the_machine(each)]
    faulty = [each for each in told if each.outcome != Outcome.OK]
    shown = _worst(faulty) if faulty else (told or alike or [newest])[-1]
    return End(shown, tuple(map(tuple, _processes(told).values())))


def of_the_machine(result: Result) -> bool:
    """Whether the attempt says nothing of the kernel: not run, not installed for want of a network, no memory left."""
    if result.outcome == Outcome.NOT_BUILT:
        return NO_SUCH.search(result.detail) is None or "folder of wheels" in result.detail
    slow_build = result.outcome == Outcome.HUNG and result.stage in ("install", "build")
    return result.outcome == Outcome.NOT_RUN or result.reason in NOTHING_SAID or slow_build


def same_fault(before: End, after: End) -> bool:
    """Whether the second has none that the first has not; a kernel that only one side was traced to tells nothing."""
    return all(any(_alike(one, other) for one in before.kinds) for other in after.kinds)


def worse(before: End, after: End) -> bool | None:
    """Whether the second fails more often, or with more harm: a refusal became a failure, or a failure a wrong answer.

    None where too few processes of the first can tell.
    """
    said = [_more_often(before, after, harm) for harm in HARMS if after.harmed(harm)]
    return True if True in said else None if None in said else False


def came_again(found: tuple[End, End], again: tuple[End, End]) -> bool | None:
    """Whether what made the second of `found` worse did so `again`.

    None where too few processes were run again to meet a fault that comes now and then.
    """
    before, after = again
    harms = _worsened(*found)
    if any(after.share(harm) > before.share(harm) for harm in harms):
        return True
    told = any(map(after.harmed, harms)) or after.processes >= enough_to_show(*found)
    return False if told else None


def enough_to_show(before: End, after: End) -> int:
    """So many processes would hardly miss what makes the second worse."""
    share = max((after.share(harm) for harm in _worsened(before, after)), default=1.0)
    return 1 if share == 1.0 else ceil(log(CHANCE) / log1p(-share))


def surely_mended(before: End, after: End) -> bool:
    """Whether the second, which is right, would have shown the fault of the first."""
    return would_show(before.faults / before.processes, after.processes)


def would_show(share: float, processes: int) -> bool:
    """Whether a fault of this share of processes hardly stays away from so many."""
    return (1 - share) ** processes <= CHANCE


def _worsened(before: End, after: End) -> list[int]:
    return [harm for harm in HARMS if after.harmed(harm) and _more_often(before, after, harm)]


def _more_often(before: End, after: End, harm: int) -> bool | None:
    """Of the faults that harm so much or more.

    Where the first never had one: by the chance that it would not have, at the second's rate. Else by Fisher's exact
    test, which says no where it cannot tell: the fault is there on both sides.
    """
    had, has = before.harmed(harm), after.harmed(harm)
    if not had:
        return True if would_show(has / after.processes, before.processes) else None
    faults, every = had + has, before.processes + after.processes
    orders = comb(every, faults)
    most = min(faults, after.processes)
    chance = sum(
        comb(after.processes, count) * comb(before.processes, faults - count) / orders
        for count in range(has, most + 1)
    )
    return chance <= CHANCE


def message(result: Result) -> tuple[str, ...]:
    """The same for all that failed alike, whatever addresses and numbers it said."""
    return str(result.outcome), result.reason, result.stage, normalised(result.detail)


def same_version(one: Result, other: Result) -> bool:
    """Whether both are of one kernel file and one environment's contents."""
    return (one.kernel_hash, one.environment_hash) == (other.kernel_hash, other.environment_hash)


def _harm(outcome: Outcome) -> int:
    return 2 if outcome in SILENT else 0 if outcome in REFUSED else 1


def _worst(faults: Sequence[Result]) -> Result:
    """The newest of those that harm most."""
    return max(reversed(faults), key=lambda each: _harm(each.outcome))


def _word(result: Result) -> str:
    return str(result.outcome).replace("_", " ")


def _kind(result: Result) -> Kind:
    said = normalised(result.detail.partition("\n")[0]) if result.reason == "unknown" else ""
    traced = part(result.forensic, "fault", "kernel")
    return str(result.outcome), result.reason, result.stage, said, str(traced or "")


def _alike(one: Kind, other: Kind) -> bool:
    *fault, kernel = one
    *others, traced = other
    return fault == others and (kernel == traced or not (kernel and traced))


def _processes(attempts: Iterable[Result]) -> dict[tuple[object, ...], list[Result]]:
    """Process -> its faults: visits of one generation are one process."""
    found: dict[tuple[object, ...], list[Result]] = {}
    for each in attempts:
        alone = 0 if each.generation else each.attempt
        faults = found.setdefault((each.run, each.arm, each.generation, alone), [])
        faults += [each] if each.outcome != Outcome.OK else []
    return found
