"""The A/A floor: how far an environment seems to be from itself, in the run whose changes are judged."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median

from workbench.comparison.checks import by_host, refusals
from workbench.comparison.estimate import estimate
from workbench.comparison.rules import FLOOR_FACTOR
from workbench.comparison.sides import Gathered, Place, Question, Side, gathered, sides
from workbench.results import Results


@dataclass(frozen=True)
class Floors:
    """|log ratio| of equal sides, by place and trial."""

    seen: dict[Place, dict[Question, list[float]]] = field(default_factory=dict)

    def of_run(self, at: Place) -> float:
        """A share: three times the median over the run's A/A trials; 0 where it has none."""
        sizes = [size for found in self.seen.get(at, {}).values() for size in found]
        return math.expm1(FLOOR_FACTOR * median(sizes)) if sizes else 0.0

    def of_trial(self, at: Place, asked: Question) -> float:
        """A share: that of the run, or what this trial itself showed, if that is more."""
        own = self.seen.get(at, {}).get(asked, [])
        return max(self.of_run(at), math.expm1(max(own, default=0.0)))

    def all_runs(self) -> dict[Place, float]:
        return {at: self.of_run(at) for at in self.seen}


def floors(results: Results, but: tuple[Side, Side]) -> Floors:
    """From all pairs of arms of one environment, but not the pair that is being compared."""
    found = Floors()
    for pair, apart in results.once("equal sides", _equal_sides).items():
        if set(pair) != set(but):
            for at, asked, size in apart:
                found.seen.setdefault(at, {}).setdefault(asked, []).append(size)
    return found


Apart = tuple[Place, Question, float]
"""|log ratio| of one trial's equal sides, in one place."""


def _equal_sides(results: Results) -> dict[tuple[Side, Side], list[Apart]]:
    return {
        (first, second): list(_apart(*(by_place(gathered(results, side)) for side in (first, second))))
        for first, second in combinations(sides(results), 2)
        if first.environment == second.environment
    }


def _apart(first: "ByPlace", second: "ByPlace") -> Iterator[Apart]:
    for at in first.keys() & second.keys():
        for asked in first[at].keys() & second[at].keys():
            one, two = first[at][asked], second[at][asked]
            same = {each.environment_hash for each in [*one.timed, *two.timed]}
            if len(same) != 1 or refusals(one, two, at) or by_host(one, first[at], asked):
                continue
            # One process a side is enough here: what matters is how far apart, not how sure.
            near = estimate(one.processes, two.processes, assumed=1.0)
            if near:
                yield at, asked, abs(near.log_ratio)


ByPlace = dict[Place, dict[Question, Gathered]]


def by_place(side: dict[Question, dict[Place, Gathered]]) -> ByPlace:
    turned: ByPlace = {}
    for asked, places in side.items():
        for at, each in places.items():
            turned.setdefault(at, {})[asked] = each
    return turned
