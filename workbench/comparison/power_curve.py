"""What a rule can see, from stored A/A samples: how often each word is said, by effect and number of processes."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from workbench.comparison.checks import by_host
from workbench.comparison.estimate import estimate
from workbench.comparison.floor import by_place
from workbench.comparison.judging import decided
from workbench.comparison.rules import DEFAULT, Direction, Rule
from workbench.comparison.sides import gathered, sides
from workbench.results import Results

EFFECTS = (0.0, 0.01, 0.02, 0.05)
PROCESSES = (3, 5, 8, 12)


@dataclass(frozen=True)
class Seen:
    """Shares of `draws` comparisons. `effect` is a share added to the time of the second side, `planted` what was
    asked for; `independent` is how many of the comparisons can be made of different processes."""

    planted: float
    effect: float
    processes: int
    independent: int
    draws: int
    faster: float
    slower: float
    same: float
    ambiguous: float

    @property
    def found(self) -> float:
        """The share of SLOWER; where nothing was planted, of both words, which are false there."""
        return self.slower if self.planted else self.slower + self.faster

    def interval(self) -> tuple[float, float]:
        """Of `found`, with 95 % (Clopper-Pearson), as known from the independent comparisons alone."""
        from scipy.special import betaincinv

        hits, misses = self.found * self.independent, (1 - self.found) * self.independent
        low = float(betaincinv(hits, misses + 1, 0.025)) if hits > 0 else 0.0
        return low, float(betaincinv(hits + 1, misses, 0.975)) if misses > 0 else 1.0


@dataclass(frozen=True)
class Pool:
    """How far each process was from their mean, on logarithms, for one trial of one environment in one place."""

    time_us: float
    apart: tuple[float, ...]

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Pool":
        middle, wider = fmean(figures), math.sqrt(len(figures) / (len(figures) - 1))
        return cls(math.exp(middle), tuple((each - middle) * wider for each in figures))


def power(
    results: Results,
    effects: Sequence[float] = EFFECTS,
    processes: Sequence[int] = PROCESSES,
    rule: Rule = DEFAULT,
    family: int = 1,
    draws: int = 1000,
    seed: int = 0,
) -> list[Seen]:
    """From all trials with three or more processes of one environment in one place, its arms together.

    `family` is the number of trials in the comparison: the first of Holm's steps, the hardest, is asked for.
    Raises ValueError where there is no such trial.
    """
    return curve(pools(results), effects, processes, rule, family, draws, seed)


def curve(
    found: Sequence[Pool], effects: Sequence[float], processes: Sequence[int], rule: Rule, family: int,
    draws: int, seed: int,
) -> list[Seen]:  # fmt: skip
    """The same from pools."""
    if not found:
        raise ValueError("no trial has three processes of one environment: run an A/A comparison first")
    chosen = random.Random(seed)
    points = []
    for effect in effects:
        for count in processes:
            said = [_word(chosen.choice(found), effect, count, rule, family, chosen) for _ in range(draws)]
            shares = {word.name.lower(): said.count(word) / draws for word in Direction}
            apart = sum(len(pool.apart) // (2 * count) for pool in found)
            points.append(Seen(effect, effect, count, apart, draws, **shares))
    return points


def pools(results: Results) -> list[Pool]:
    """Noise between processes, one pool a trial; trials timed by the host are left out."""
    figures: dict[object, list[float]] = {}
    for side in sides(results):
        for at, trials in by_place(gathered(results, side)).items():
            for asked, each in trials.items():
                if not by_host(each, trials, asked):
                    figures.setdefault((side.environment, at, asked), []).extend(each.processes.values())
    return [Pool.of(each) for each in figures.values() if len(each) >= 3]


def _word(pool: Pool, effect: float, count: int, rule: Rule, family: int, chosen: random.Random) -> Direction:
    before = dict(enumerate(chosen.choices(pool.apart, k=count)))
    after = {
        place: each + math.log1p(effect) for place, each in enumerate(chosen.choices(pool.apart, k=count))
    }
    found = estimate(before, after, assumed=rule.assumed_spread, fewest=rule.fewest)
    limit = math.log1p(rule.margin_at(pool.time_us))
    return decided(found, limit, min(1.0, family * found.p)) if found else Direction.AMBIGUOUS
