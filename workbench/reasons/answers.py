"""What the numbers of a finished attempt say of its answer: wrong, or not possible."""

from __future__ import annotations

import math
import re

from .evidence import Evidence, numbers
from .signs import Hit

LOW_COSINE, HIGH_ERROR, GROWTH = 0.97, 0.25, 100.0
"""Limits used only where the record names no tolerance: wide enough for 4-bit formats."""

_WORDS = re.compile(r"mismatch(?:ed)?|wrong|incorrect|garbage|not_close", re.IGNORECASE)
_JUDGED = re.compile(r"^cos|rel_?l2|error|^(?:max_?|mean_?)?(?:abs|rel)_?(?:err|diff)|^err|^diff|_diff$|"
                     r"absmax|nan|nonfinite|inf$|"
                     r"nonzero|^(?:wrong|mismatch|incorrect|bad)")  # fmt: skip
_STEP = re.compile(
    r"(?:max_?|mean_?)?(?:abs|rel)_?(?:err|diff)\w{0,10}\s{0,3}[=:]\s{0,3}([-+\d.einfa]{1,24})", re.IGNORECASE
)


def wrong(evidence: Evidence) -> Hit | None:
    """The answer is off, by the facts that the worker printed."""
    found = dict(numbers(dict(evidence.facts)))
    for name, value in found.items():
        problem = _problem(name.rpartition(".")[2].lower(), value, found)
        if problem:
            return Hit("wrong_numbers", f"{name} = {value:g}", problem)
    return _said(evidence)


def _said(evidence: Evidence) -> Hit | None:
    for name, value in list(evidence.facts.items())[:500]:
        denied = value is False and re.fullmatch(r"all_?close|match(?:es)?|correct|ok|passed|finite", name)
        if (
            denied
            or (isinstance(value, str) and _WORDS.fullmatch(value.strip()[:40]))
            or (value is True and "zeros" in name)
        ):
            return Hit("wrong_numbers", f"{name}: {value}")
    return None


def _problem(name: str, value: float, found: dict[str, float]) -> str:
    if not _JUDGED.search(name):
        return ""
    if not math.isfinite(value):
        return "not a finite number"
    if re.search(r"nan|nonfinite|inf$|^(?:wrong|mismatch|incorrect|bad)", name):
        return "more than none" if value > 0 else ""
    if name.startswith("cos"):
        return "low cosine" if value < LOW_COSINE else ""
    if re.search(r"absmax|nonzero", name):
        silent = value == 0 and not name.startswith("ref") and found.get("ref_absmax", 1) > 0
        return "nothing but zeros" if silent else ""
    over = re.search(r"rel|^error$", name) and value > found.get("tolerance", HIGH_ERROR)
    return "over the tolerance" if over else ""


def grew(evidence: Evidence) -> Hit | None:
    """An error printed step by step that leaves its first value far behind."""
    start: float | None = None
    for where, line in enumerate(evidence.lines):
        for word in _STEP.findall(line):
            try:
                value = abs(float(word))
            except ValueError:
                continue
            if math.isnan(value) or (start and value > GROWTH * start):
                return Hit("wrong_numbers", line, "the error grows from step to step", where)
            start = start or value
    return None


def impossible(evidence: Evidence) -> Hit | None:
    """A time that is no time, or under the physical floor."""
    median, floor = (evidence.facts.get(name) for name in ("median_us", "floor_us"))
    if isinstance(median, bool) or not isinstance(median, int | float):
        return None
    if not 0 < median < math.inf:
        return Hit("measurement_invalid", f"median_us = {median}")
    if isinstance(floor, int | float) and median < floor:
        return Hit("measurement_invalid", f"median_us = {median:g}, below the physical floor of {floor:g}")
    return None
