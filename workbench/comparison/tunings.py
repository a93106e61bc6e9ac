"""What tuned processes chose, and how far they are apart: which tactic a tuner picks is a matter of chance.

So a tuning is a unit of replication, as the process is in which it is made.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from workbench.results import Result
from workbench.tactics import tactic


@dataclass(frozen=True)
class Tuning:
    """One process: its tactic, as `gemm1 MoERunner 33, gemm2 MoERunner 114`, and the time it had with it."""

    tactic: str
    time_us: float


@dataclass(frozen=True)
class Equal:
    """Both sides at one tactic, which the tuner picked in `counts` of their processes; no verdict."""

    tactic: str
    ratio: float
    counts: tuple[int, int]


Sides = tuple[tuple[Tuning, ...], tuple[Tuning, ...]]


def tunings(timed: Sequence[Result], processes: Mapping[int, float]) -> tuple[Tuning, ...]:
    """Of each process (generation -> logarithm of its time) whose tactic is stored."""
    tactics = {each.generation: text for each in timed if (text := tactic(each))}
    return tuple(
        Tuning(tactics[generation], math.exp(time))
        for generation, time in processes.items()
        if generation in tactics
    )


def spread(side: Sequence[Tuning]) -> float | None:
    """How much longer the slowest takes than the fastest, as a share; None for fewer than two."""
    times = [each.time_us for each in side]
    return max(times) / min(times) - 1 if len(times) > 1 else None


def by_tactic(side: Sequence[Tuning]) -> dict[str, list[Tuning]]:
    """The most chosen first."""
    found: dict[str, list[Tuning]] = {}
    for each in side:
        found.setdefault(each.tactic, []).append(each)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def middle_us(some: Sequence[Tuning]) -> float:
    """Geometric mean."""
    return math.exp(fmean(math.log(each.time_us) for each in some))


def at_equal(sides: Sides) -> list[Equal]:
    """Tactics that both sides picked."""
    before, after = map(by_tactic, sides)
    return [
        Equal(tactic, middle_us(after[tactic]) / middle_us(before[tactic]), (len(picked), len(after[tactic])))
        for tactic, picked in before.items()
        if tactic in after
    ]
