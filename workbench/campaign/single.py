"""Pairs of trials that differ in one thing alone: a package, an input, or how the call is made. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby, pairwise, product
from math import comb
from typing import Any

from workbench.attribution.lock import components
from workbench.results import Results, Trial
from workbench.untrusted import natural
from workbench.verdict.ends import End, end

LEVEL = 0.05  # of the sign test: six pairs that all differ one way are enough, five are not
MOST_VALUES = 24  # of one thing, all of which are paired with each other; of more, each with the next
MODES = (("eager", "graph"), ("eager", "piecewise"), ("eager", "fenced"), ("piecewise", "piecewise+fenced"))
"""Changes of how a call is made, as they are asked for; all others would say the same again."""

Fact = tuple[str, str]
LOADED: Fact = ("same", "loaded")
Pair = tuple["Point", "Point"]


@dataclass(frozen=True)
class Point:
    """A trial of which something is known, and all that may differ between it and another."""

    trial: Trial
    end: End
    facts: Mapping[Fact, str]


@dataclass(frozen=True)
class Single:
    """One change in all pairs that differ in it alone: `kind` is package, input or mode; values before and after.

    `loaded`, where a package differs: the libraries in both processes; one that is not there can hardly matter.
    """

    kernel: str
    kind: str
    name: str
    values: tuple[str, str]
    mode: str
    loaded: str
    pairs: tuple[Pair, ...]

    def count(self, first: bool, second: bool) -> int:
        """Pairs whose first and second fail, or do not."""
        return self._counts[first, second]

    @cached_property
    def _counts(self) -> Counter[tuple[bool, bool]]:
        return Counter(map(fails, self.pairs))

    @property
    def chance(self) -> float:
        """How often a coin would put so many of the pairs that differ on one side: the sign test, two-sided."""
        one, other = self.count(True, False), self.count(False, True)
        every = one + other
        least = sum(comb(every, count) for count in range(max(one, other), every + 1))
        return min(1.0, 2 * least / 2**every)

    @property
    def flips(self) -> str:
        """The value that fails where the other does not; empty where that cannot be told."""
        if self.chance > LEVEL:
            return ""
        return self.values[0 if self.count(True, False) > self.count(False, True) else 1]

    @property
    def nothing(self) -> bool:
        """Whether both trials of each pair end alike, some of them badly: the change flips nothing."""
        return not self.count(True, False) + self.count(False, True) and bool(self.count(True, True))


def fails(pair: Pair) -> tuple[bool, bool]:
    """Whether each fails in some process, of as many as both have: who is asked more often fails more often."""
    one, two = (point.end.each for point in pair)
    count = min(len(one), len(two))
    return any(one[:count]), any(two[:count])


def singles(results: Results, inputs: Sequence[str]) -> list[Single]:
    """Every change of a package, of these inputs, and of the mode, by kernel."""
    known = list(_points(results))
    differ = _differ(known)
    found: dict[tuple[str, ...], list[Pair]] = {}
    for fact in sorted(set().union(*differ.values())):
        if fact[0] in ("package", "mode") or fact in {("input", name) for name in inputs}:
            for pair in _pairs([point for point in known if fact in differ[_same(point)]], fact):
                found.setdefault(_alike(pair, fact), []).append(pair)
    ordered = sorted(found.items(), key=lambda item: [natural(text) for text in item[0]])
    return [
        Single(kernel, kind, name, (before, after), mode, loaded, tuple(pairs))
        for (kernel, kind, name, before, after, mode, loaded), pairs in ordered
    ]


def _points(results: Results) -> Iterator[Point]:
    for trial, attempts in results.by_trial().items():
        ended = end(attempts)
        if ended and ended.known:
            yield Point(trial, ended, _facts(trial, ended))


def _facts(trial: Trial, ended: End) -> dict[Fact, str]:
    held: dict[Fact, Any] = {("package", name): value for name, value in components(ended.result).items()}
    held |= {("input", name): value for name, value in trial.case.items()}
    held |= {("mode", ""): trial.mode, ("same", "kernel"): trial.kernel, ("same", "gpu"): trial.gpu}
    held |= {("same", "file"): ended.result.kernel_hash, LOADED: _loaded(ended)}
    return {fact: str(value) for fact, value in held.items()}


def _loaded(ended: End) -> str:
    told = ended.result.found.get("loaded")
    return ", ".join(map(str, told)) if isinstance(told, list) else "not told"


def _same(point: Point) -> tuple[str, ...]:
    """What both trials of any pair share."""
    return tuple(value for fact, value in point.facts.items() if fact[0] == "same" and fact != LOADED)


def _differ(known: Sequence[Point]) -> dict[tuple[str, ...], set[Fact]]:
    """The facts that not all have alike, of those points that may be a pair: all others need not be tried."""
    items: dict[tuple[str, ...], Counter[tuple[Fact, str]]] = {}
    for point in known:
        items.setdefault(_same(point), Counter()).update(point.facts.items())
    sizes = Counter(map(_same, known))
    return {
        same: {fact for (fact, _), count in counts.items() if count < sizes[same]}
        for same, counts in items.items()
    }


def _pairs(known: Sequence[Point], fact: Fact) -> Iterator[Pair]:
    """Those that have all other facts in common, the earlier value first; what is loaded matters to packages alone."""
    groups: dict[frozenset[tuple[Fact, str]], list[Point]] = {}
    apart = {fact} if fact[0] == "package" else {fact, LOADED}
    for point in known:
        rest = frozenset(item for item in point.facts.items() if item[0] not in apart)
        groups.setdefault(rest, []).append(point)
    for members in groups.values():
        for one, two in _two_values(members, fact):
            if fact[0] != "mode" or (one[0].facts[fact], two[0].facts[fact]) in MODES:
                yield from product(one, two)


def _two_values(members: list[Point], fact: Fact) -> Iterator[tuple[list[Point], list[Point]]]:
    """The points of one value and those of another."""

    def value(point: Point) -> str:
        return point.facts.get(fact, "")

    members.sort(key=lambda point: (natural(value(point)), value(point)))
    by_value = [list(some) for _, some in groupby(members, key=value)]
    yield from combinations(by_value, 2) if len(by_value) <= MOST_VALUES else pairwise(by_value)


def _alike(pair: Pair, fact: Fact) -> tuple[str, ...]:
    """What is counted together: kernel, kind, name, both values, mode (where that does not differ), what is loaded."""
    values = (point.facts.get(fact, "") or "none" for point in pair)
    mode = "" if fact[0] == "mode" else pair[0].trial.mode
    loaded = pair[0].facts[LOADED] if fact[0] == "package" else ""
    return pair[0].trial.kernel, *fact, *values, mode, loaded
