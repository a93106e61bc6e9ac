"""A sign is a pattern in one line and the class it speaks for; the first sign in time is the cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .evidence import Evidence
from .text import clock_of, is_quiet


@dataclass(frozen=True)
class Hit:
    reason: str
    line: str
    note: str = ""
    where: int = 0


Judge = Callable[[Evidence, re.Match[str], int], str | None]
"""The class from the evidence, the match and the number of its line; None is "no sign after all"."""


@dataclass(frozen=True)
class Sign:
    pattern: re.Pattern[str]
    reason: str | Judge
    note: str = ""

    def read(self, evidence: Evidence, where: int) -> Hit | None:
        line = evidence.lines[where]
        found = self.pattern.search(line)
        if not found:
            return None
        reason = self.reason if isinstance(self.reason, str) else self.reason(evidence, found, where)
        return Hit(reason, line, self.note, where) if reason else None


def sign(reason: str | Judge, *patterns: str, note: str = "") -> Sign:
    """A sign of any of the patterns, without a care for capitals unless one says `(?-i:...)`."""
    return Sign(re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE), reason, note)


def first(signs: Iterable[Sign], evidence: Evidence, *, quiet: bool | None = None) -> Hit | None:
    """The earliest hit: by the printed clocks if every hit has one, else by place. `quiet` chooses lines."""
    table = tuple(signs)
    hits: list[Hit] = []
    for where, line in enumerate(evidence.lines):
        if quiet is None or is_quiet(line) == quiet:
            hit = next(filter(None, (each.read(evidence, where) for each in table)), None)
            if hit:
                hits.append(hit)
        if len(hits) >= 50:
            break
    clocks = [clock_of(hit.line) for hit in hits]
    if hits and all(clock is not None for clock in clocks):
        return min(zip(clocks, range(len(hits)), hits, strict=True))[2]  # type: ignore[type-var]
    return hits[0] if hits else None
