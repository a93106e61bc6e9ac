"""Timings of two versions, A and B: not comparable, not separable, slower, or fine. Asked in that order."""

from __future__ import annotations

import re

from .evidence import Evidence
from .pairs import leaves, pairs, two_sides
from .signs import Hit, first, sign
from .stopwatch import not_comparable

SLOWER_FROM, SPREAD_FROM, ERROR_FROM = 1.05, 1.25, 0.3
"""B/A from which B is slower; highest/lowest of one side and +-/value from which nothing is known."""

_NUMBER = r"\d{1,15}(?:\.\d{1,15})?"
_MORE_IS_BETTER = re.compile(
    r"flops|\w/s(?:ec\w*)?\b|\btok\w* s\b|tokens?\b|[tfqr]ps\b|throughput|bandwidth|[gt]i?b/?p?s|per s|speed ?-?up",
    re.IGNORECASE,
)

OPEN = (
    sign(
        "inconclusive",
        "not (?:statistically )?significant",
        "within (?:the )?noise",
        "too noisy",
        "high variance",
        "insignificant",
        "difference (?:is )?(?:suppressed|below)",
        "intervals? overlap",
        r"(?:tactic|entr\w{1,4}|tun\w{2,8}).{0,80}\bdiffer\b",
    ),
)

SAYS_SLOWER = (
    sign(
        "slower",
        r"\bunaffected\b",
        r"(?<!not )(?<!no )\bslow(?:er|down)\b",
        r"(?<!no )(?<!not )\bregress\w{1,6}",
        r"throughput\s{1,4}<\s?1\b",
        r"(?:latency|ttft|itl|time)\s{1,4}>\s?1\b",
    ),
)


def timing(evidence: Evidence) -> Hit | None:
    """What two series of times allow one to say; None if the record is of something else."""
    if evidence.kind != "timing" and (evidence.kind or not two_sides(evidence.versions)):
        return None
    asked = (not_comparable, lambda known: first(OPEN, known), _unsteady, _compared)
    return next(filter(None, (ask(evidence) for ask in asked)), None)


def _unsteady(evidence: Evidence) -> Hit | None:
    """One side alone differs by more than a version could: the tuner's choice, or noise."""
    for name, values in leaves(evidence.measurements):
        if (
            isinstance(values, list)
            and len(values) >= 3
            and min(values) > 0
            and max(values) / min(values) >= SPREAD_FROM
        ):
            return Hit(
                "inconclusive",
                f"{' '.join(name)}: {min(values):g} to {max(values):g}",
                "one side spreads more than a change",
            )
    for line in evidence.lines:
        for value, error in re.findall(rf"({_NUMBER})\s?(?:\+-|±)\s?({_NUMBER})", line):
            if float(value) > 0 and float(error) / float(value) >= ERROR_FROM:
                return Hit("inconclusive", line, "the error is a large part of the value")
    return None


def _compared(evidence: Evidence) -> Hit:
    """A difference belongs to a version only where two versions are named and the ranges stand apart."""
    if not two_sides(evidence.versions):
        return Hit(
            "inconclusive", "no two versions are named", "a difference without two versions is nobody's"
        )
    found = [pair for pair in pairs(evidence.measurements) if pair.medians and min(pair.medians) > 0]
    unit = evidence.measurements.get("unit", "") if isinstance(evidence.measurements, dict) else ""
    for name, a, b in found:
        lowest, highest = (b, a) if _MORE_IS_BETTER.search(f"{name} {unit}"[:200]) else (a, b)
        middle = sorted(highest)[len(highest) // 2] / sorted(lowest)[len(lowest) // 2]
        if middle >= SLOWER_FROM:
            apart = len(a) < 3 or min(highest) > max(lowest)
            return Hit(
                "slower" if apart else "inconclusive",
                f"{name}: {a[:3]} -> {b[:3]}, {middle:.2f} times as long",
            )
    said = _slower_by_text(evidence)
    if said or found:
        return said or Hit("ok", "no time of the second version is longer")
    return Hit("inconclusive", "no times of two versions to compare")


def _slower_by_text(evidence: Evidence) -> Hit | None:
    for line in evidence.lines:
        ratios = re.findall(rf"ratio[ :=]{{1,3}}({_NUMBER})|({_NUMBER})x slower", line, re.IGNORECASE)
        if any(float(one or other) >= SLOWER_FROM for one, other in ratios) or re.search(
            r"\(\+(?:[5-9]|\d{2,4})(?:\.\d+)? ?%\)", line
        ):
            return Hit("slower", line)
    return first(SAYS_SLOWER, evidence)
