"""Made-up processes for tests of comparisons, and their noise: within a process resampled from committed samples.

Between processes, from twelve fresh ones on one H200 (events, L2 flushed, 2026-11-30): ranges of 0.2 %, 0.4 %
and 0.7 %, and one row with eleven within 1.4 % and the twelfth at 2.6 %.
"""

import math
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from workbench.comparison import DEFAULT, Change, Rule, compare
from workbench.results import Outcome, Result, Results, Trial
from workbench.store import load

OLD, NEW = "example 1", "example 2"
COMMITTED = Path(__file__).parent.parent / "results" / "h200"
RANGE_OF_12 = 3.26  # of standard normals: their expected range in standard deviations
SPREADS = tuple(wide / RANGE_OF_12 for wide in (0.002, 0.004, 0.007, 0.014))
STEADY = [100.0, 100.1, 99.9, 100.05, 99.95]
STRAY, STRAY_BY = 1 / 12, 0.02  # on the widest of the four rows


def attempt(environment: str = NEW, time_us: float = 100.0, generation: int = 1, **facts: Any) -> Result:
    """One timed visit. `facts` are those of Result, of `time`, and `case`, `mode`, `kernel`, `gpu`, `card`."""
    trial = Trial(
        facts.pop("kernel", "example"), facts.pop("case", {"tokens": 1}), facts.pop("mode", "graph"), environment,
        facts.pop("gpu", "Example GPU A"),
    )  # fmt: skip
    card = {"uuid_hash": facts.pop("card", "c0ffee")}
    provenance = {"environment": {"name": environment, "hash": environment}, "gpu": card}
    time = {"timer": "graph_replay_events", "samples_us": [time_us], "l2": "cold", "clocks": {"sm_mhz": 1980}}
    time |= facts.pop("time", {})
    known = {"run": "run 1", "arm": "a", "provenance": provenance} | facts
    return Result(trial, outcome=Outcome.OK, reason="ok", generation=generation, time=time, **known)


def of_processes(before: Sequence[float], after: Sequence[float], **facts: Any) -> Results:
    """One visit a process, at the times given."""
    sides = ((OLD, before), (NEW, after))
    return Results(
        tuple(
            attempt(environment, time_us, generation, **facts)
            for environment, times in sides
            for generation, time_us in enumerate(times, start=1)
        )
    )


def one(results: Results, rule: Rule = DEFAULT, before: Any = OLD, after: Any = NEW) -> Change:
    changes = list(compare(results, before, after, rule))
    assert len(changes) == 1
    return changes[0]


def times(factor: float, like: Sequence[float] = STEADY) -> list[float]:
    return [factor * each for each in like]


@cache
def within() -> tuple[float, ...]:
    """Logarithms of medians of 100 samples, drawn anew from what one process had, around the median of all of it."""
    chosen = random.Random(1)
    timed = [each.time["samples_us"] for each in load(COMMITTED) if each.trial.mode == "graph" and each.time]
    kept = [samples for samples in timed if len(samples) >= 50]
    found = []
    for _ in range(1500):
        samples = chosen.choice(kept)
        found.append(math.log(median(chosen.choices(samples, k=100)) / median(samples)))
    return tuple(found)


def processes(count: int, row: int, chosen: random.Random) -> list[float]:
    """Logarithms of process medians around 0, noisy as row 0 to 3 of the twelve processes."""
    inside = within()
    found = []
    for _ in range(count):
        stray = STRAY_BY if row == 3 and chosen.random() < STRAY else 0.0
        found.append(chosen.gauss(0, SPREADS[row]) + stray + chosen.choice(inside))
    return found
