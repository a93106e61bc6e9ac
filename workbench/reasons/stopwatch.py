"""Times that must not be compared: another timer, another state of clocks or cache, another kernel."""

from __future__ import annotations

import re

from .evidence import Evidence
from .fallback import UNTUNED
from .pairs import leaves, pairs, two_sides
from .signs import Hit, first, sign

CLOCKS_FROM = 1.03
"""Ratio of two clock rates from which times are not comparable."""

_RATE = re.compile(r"(\d{3,4}(?:\.\d{1,3})?) ?MHz", re.IGNORECASE)
_CONDITION = re.compile(r"\b(\w{0,20}(?:l2|timer|flush)\w{0,20})=(\w{1,40})", re.IGNORECASE)
_WAY = re.compile(
    r"sync|synced|synchronized|nosync|async|cold|hot|warm|warmup|flush|flushed|cupti|events?|wall|host|profiler?|"
    r"graph|eager|locked|unlocked|boost|first|once|batch"
)
"""Words of a measurement's name that say how it was taken, not of what."""
_CACHE = {
    "warm": re.compile(
        r"(?:fits?|resident|stays?) in (?:the )?l2|\b(?:without|no) (?:l2 |cache )?flush|(?:warm|hot) l2"
        r"|l2 (?:is |was )?(?:warm|hot)",
        re.IGNORECASE,
    ),
    "cold": re.compile(
        r"\bwith (?:an? )?(?:l2 |cache )?flush|cold l2|l2 (?:is |was )?(?:cold|flushed)", re.IGNORECASE
    ),
}

TIMER = (
    sign(
        "measurement_invalid",
        r"(?:no|0) (?:cuda |gpu |kernel )?(?:kernels?|activities) (?:were )?(?:recorded|captured|traced)",
        r"fall(?:ing|s|en)?[ -]?back to (?:cuda )?(?:events?\b|host|wall|cpu tim)",
        note="the timer saw nothing, or is another one",
    ),
)

INVALID = (
    *TIMER,
    *UNTUNED,
    sign(
        "measurement_invalid",
        r"(?<!no )(?<!not )\bthrottl(?:ed|ing)\b(?!\W{1,4}(?:none|no|0|false)\b)",
        r"thermal slow-?down(?!\W{1,4}(?:none|no|not active|inactive|0|false)\b)",
        "clocks? (?:not locked|dropped|changed|unstable)",
        "power cap",
        note="the clock was not steady",
    ),
    sign(
        "measurement_invalid",
        r"(?<![\w.])-?nan (?:ns|us|ms|s|%|b/s|gb/s|tflop)",
        r"median\w{0,8}[=: ]{1,3}-?nan\b",
        note="no number",
    ),
    sign(
        "measurement_invalid",
        r"(?:\bno|without|w/o|missing|forgot\w{0,4}) (?:an? )?(?:cuda |gpu |torch\.cuda\.|device )?"
        r"sync(?:hroni[sz]\w{0,6})?\b",
        note="not synchronised",
    ),
    sign(
        "measurement_invalid",
        r"(?:includ\w{1,4}|contain\w{1,4}|dominated by) .{0,40}(?:compil|jit|first call|autotun)",
        r"\b(?:no|without|0|zero|missing|incorrect) warm[- ]?ups?\b|warm-?ups?\W{1,3}0\b",
        note="compilation inside the timed region",
    ),
    sign(
        "measurement_invalid",
        r"\b(?:1[0-9]{2}|[2-9][0-9]{2,4})(?:\.\d+)? ?% of (?:peak|roofline|sol)",
        "(?:exceeds?|above|over) (?:the )?(?:theoretical |hardware )?(?:peak|roofline)",
        note="faster than the hardware",
    ),
    sign(
        "measurement_invalid",
        r"\buntuned\b",
        "not (?:auto)?tuned",
        note="an untuned kernel",
    ),
)


def not_comparable(evidence: Evidence) -> Hit | None:
    """Why the times say nothing of each other."""
    asked = (lambda known: first(INVALID, known), _conditions, _ways, _printed, _clocks, _caches)
    return next(filter(None, (ask(evidence) for ask in asked)), None)


def _conditions(evidence: Evidence) -> Hit | None:
    """Sides measured in different ways."""
    for name, a, b in pairs(evidence.measurements):
        clocks = isinstance(a, list) and re.search(r"clock|mhz", name) and min(a) > 0 and min(b) > 0
        if (isinstance(a, str) and a != b and re.search(r"timer|l2|flush|mode|clock|cache|tool", name)) or (
            clocks and max(*a, *b) / min(*a, *b) >= CLOCKS_FROM
        ):
            return Hit("measurement_invalid", f"{name}: {a} and {b}")
        if "tactic" in name and a != b:
            return Hit("inconclusive", f"{name}: {a} and {b}", "the tuner chose differently")
    return None


def _ways(evidence: Evidence) -> Hit | None:
    """The same thing timed in two ways, and nothing else that differs: no sides to compare."""
    if two_sides(evidence.versions) or pairs(evidence.measurements):
        return None
    names = [path for path, value in leaves(evidence.measurements) if isinstance(value, list)]
    if len(names) > 1 and any(_WAY.fullmatch(word) for name in names for word in name):
        return Hit("measurement_invalid", " and ".join(map(" ".join, names[:3])), "two ways of timing")
    return None


def _clocks(evidence: Evidence) -> Hit | None:
    """Clock rates in what was printed that are too far apart."""
    rates = [float(rate) for line in evidence.lines for rate in _RATE.findall(line)]
    if rates and min(rates) > 0 and max(rates) / min(rates) >= CLOCKS_FROM:
        return Hit("measurement_invalid", f"clocks from {min(rates):g} to {max(rates):g} MHz")
    return None


def _printed(evidence: Evidence) -> Hit | None:
    """One setting of the stopwatch with two values in what was printed."""
    seen: dict[str, str] = {}
    for line in evidence.lines:
        for name, value in _CONDITION.findall(line):
            if seen.setdefault(name.lower(), value) != value:
                return Hit("measurement_invalid", line, f"{name} was {seen[name.lower()]} before")
    return None


def _caches(evidence: Evidence) -> Hit | None:
    """Times with a warm and with a cold L2 cache side by side."""
    lines = {state: next(filter(word.search, evidence.lines), None) for state, word in _CACHE.items()}
    both = all(lines.values())
    return Hit("measurement_invalid", str(lines["warm"]), "and others with a cold L2 cache") if both else None
