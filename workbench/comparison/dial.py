"""What a rule finds of a change that was really made: processes of a kernel with a dial, drawn from those measured."""

import math
import random
from collections.abc import Sequence
from statistics import fmean

from workbench.comparison.estimate import estimate
from workbench.comparison.floor import by_place
from workbench.comparison.judging import decided
from workbench.comparison.power_curve import Seen
from workbench.comparison.rules import DEFAULT, Direction, Rule
from workbench.comparison.sides import gathered, sides
from workbench.results import Results

Figures = dict[float, list[float]]
"""Dial -> logarithms of the time of each process, all of one environment, mode and place."""


def found_rates(
    results: Results, key: str = "dial", processes: Sequence[int] = (3, 4, 5, 6), rule: Rule = DEFAULT,
    draws: int = 2000, seed: int = 0,
) -> list[Seen]:  # fmt: skip
    """For each step of the dial against 0, and each number of processes a side; `effect` is what was really seen.

    Raises ValueError where no trial has the dial at 0 and at another step.
    """
    groups = [each for each in _groups(results, key) if 0.0 in each and len(each) > 1]
    if not groups:
        raise ValueError(f"no results of a kernel with {key!r} at 0 and another step")
    chosen = random.Random(seed)
    steps = sorted({step for group in groups for step in group if step})
    return [_seen(groups, step, count, rule, draws, chosen) for step in steps for count in processes]


def _groups(results: Results, key: str) -> list[Figures]:
    groups: dict[object, Figures] = {}
    for side in sides(results):
        for at, trials in by_place(gathered(results, side)).items():
            for each in trials.values():
                trial = each.attempts[0].trial
                step = trial.case.get(key)
                if isinstance(step, int | float) and each.processes:
                    group = groups.setdefault((side.environment, at, trial.mode), {})
                    group.setdefault(float(step), []).extend(each.processes.values())
    return list(groups.values())


def _seen(
    groups: Sequence[Figures], step: float, count: int, rule: Rule, draws: int, chosen: random.Random
) -> Seen:
    enough = [each for each in groups if min(len(each.get(step, ())), len(each[0.0])) >= count]
    said = [_word(chosen.choice(enough), step, count, rule, chosen) for _ in range(draws if enough else 0)]
    shares = {word.name.lower(): said.count(word) / max(1, len(said)) for word in Direction}
    effect = fmean(fmean(each[step]) - fmean(each[0.0]) for each in groups if step in each)
    apart = sum(min(len(each[step]), len(each[0.0])) // count for each in enough)
    return Seen(step, math.expm1(effect), count, apart, len(said), **shares)


def _word(group: Figures, step: float, count: int, rule: Rule, chosen: random.Random) -> Direction:
    before, after = (dict(enumerate(chosen.sample(group[at], count))) for at in (0.0, step))
    found = estimate(before, after, may_pair=False, assumed=rule.assumed_spread, fewest=rule.fewest)
    limit = math.log1p(rule.margin_at(math.exp(fmean(group[0.0]))))
    return decided(found, limit, found.p) if found else Direction.AMBIGUOUS
