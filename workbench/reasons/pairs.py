"""Two sides in a tree of measurements: values whose paths differ only in the word for the side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any, NamedTuple

SIDES = (
    ("a", "b"),
    ("before", "after"),
    ("old", "new"),
    ("good", "bad"),
    ("base", "head"),
    ("baseline", "candidate"),
    ("yesterday", "today"),
)
DEEPEST, MOST = 6, 500


class Pair(NamedTuple):
    """One quantity of both sides; numbers stand as lists."""

    name: str
    a: Any
    b: Any

    @property
    def medians(self) -> tuple[float, float] | None:
        both = isinstance(self.a, list) and isinstance(self.b, list)
        return (median(self.a), median(self.b)) if both else None


def leaves(
    value: object, path: tuple[str, ...] = (), depth: int = 0
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(words of the path, text or list of numbers)."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, inner in list(value.items())[:MOST]:
            yield from leaves(inner, (*path, *re.split(r"[^a-z0-9.]+", str(name)[:80].lower())), depth + 1)
    elif isinstance(value, list | tuple):
        kept = [float(item) for item in value[:10_000] if _is_number(item)]
        if kept:
            yield path, kept
    elif _is_number(value):
        yield path, [float(value)]  # type: ignore[arg-type]
    elif isinstance(value, str | bool):
        yield path, str(value)[:100]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def pairs(measurements: object) -> list[Pair]:
    found = dict(leaves(measurements))
    made = []
    for path, value in found.items():
        for one, other in SIDES:
            twin = tuple(other if word == one else word for word in path)
            if path.count(one) == 1 and twin in found and type(found[twin]) is type(value):
                name = " ".join(word for word in path if word and word != one)
                made.append(Pair(name or "time", value, found[twin]))
    return made


def two_sides(versions: Mapping[str, str]) -> bool:
    """Whether the record names two versions to compare, as two keys or as "0.6.8 -> 0.6.11"."""
    arrows = any(re.search(r"\d\s*(?:->|→|\bvs\b)\s*v?\d", version) for version in versions.values())
    return arrows or any(one in versions and other in versions for one, other in SIDES)
