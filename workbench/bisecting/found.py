"""What a bisection found, as plain values and as text. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.untrusted import plain

from .answer import Answer
from .mixing import Move
from .probing import Probe

MOST_NAMED = 8
LONGEST = 300


@dataclass(frozen=True)
class Found:
    """`good` and `bad` are the two nearest to each other that were told; `probes` are all, in the order asked.

    Over a lock, `moves` flip it. `unsure` are the versions between the two, or those of the moves that may not be
    needed. `problem` says why nothing could be looked for; then `good` and `bad` are the ends.
    """

    over: str
    good: Probe
    bad: Probe
    probes: tuple[Probe, ...]
    unsure: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""

    @property
    def exact(self) -> bool:
        return not (self.unsure or self.problem)

    @property
    def contradicted(self) -> bool:
        """Whether an end is the opposite of what was said of it."""
        return self.good.answer == Answer.BAD or self.bad.answer == Answer.GOOD


def facts(found: Found) -> dict[str, Any]:
    """For machines; trials by their ids."""
    good, bad = fact(found.good), fact(found.bad)
    ends = {"good": good, "bad": bad} if found.problem else {"last_good": good, "first_bad": bad}
    return {
        "over": found.over,
        "exact": found.exact,
        "problem": found.problem,
        **ends,
        "flips": [vars(each) for each in found.moves],
        "unsure": list(found.unsure),
        "left_out": dict(found.left_out),
        "probes": [fact(each) for each in found.probes],
    }


def text(found: Found) -> str:
    """The answer first, then what it rests on."""
    if found.problem:
        head = [found.problem]
    elif found.over == "lock":
        head = [f"flips it    {' and '.join(map(str, found.moves))}", *_lines(found, "with it", "without it")]
    else:
        head = [*_lines(found, "first bad", "last good"), *_otherwise(found)]
    return "\n".join(
        [
            *head,
            *_unsure(found),
            *(f"left out    {line}" for line in grouped(found.left_out)),
            *_asked(found.probes),
        ]
    )


def _lines(found: Found, bad: str, good: str) -> list[str]:
    return [_line(bad, found.bad), _line(good, found.good)]


def _line(head: str, probe: Probe) -> str:
    return f"{head:12}{probe.trial.id}  {plain(probe.environment, LONGEST)}: {probe.why}"


def _otherwise(found: Found) -> list[str]:
    """Where the first bad one has another fault than the bad end, there may be two to look for."""
    first, end = (re.split(r": | \(", each.why)[0] for each in (found.bad, found.probes[1]))
    return [f"note        the bad end is {end}, this is {first}: say with --until which is meant"] * (
        first != end
    )


def _unsure(found: Found) -> list[str]:
    if not found.unsure:
        return []
    what = "the first bad one may be among them" if found.over == "releases" else "perhaps not needed"
    return [f"cannot tell {_some(found.unsure)}: {what}"]


def grouped(left_out: Mapping[str, str]) -> list[str]:
    """`yanked: 1.0, 1.1`, a line a reason."""
    by_why: dict[str, list[str]] = {}
    for version, why in left_out.items():
        by_why.setdefault(why, []).append(version)
    return [f"{why}: {_some(some)}" for why, some in by_why.items()]


def _asked(probes: Iterable[Probe]) -> list[str]:
    every = list(probes)
    stored = sum(not each.made for each in every if each.attempts)
    head = f"asked       {len(every)} environments, {stored} of them answered by what was stored"
    return [head, *(f"  {each.answer:12}{plain(each.environment, LONGEST)}: {each.why}" for each in every)]


def _some(names: Iterable[str]) -> str:
    every = list(names)
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return ", ".join(every[:MOST_NAMED]) + more


def fact(probe: Probe) -> dict[str, Any]:
    """One answer, for machines."""
    return {
        "environment": probe.environment,
        "answer": str(probe.answer),
        "why": probe.why,
        "trial": probe.trial.id,
        "attempts": probe.attempts,
        "made": probe.made,
    }
