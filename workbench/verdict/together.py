"""All times of a GPU family together: whether they are slower, and whether that came again. Pure."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.comparison import Change
from workbench.verdict.pair import Pair
from workbench.verdict.policy import Policy
from workbench.verdict.word import AGAINST


@dataclass(frozen=True)
class Overall:
    """The weighted geometric mean of candidate over baseline, and its 95 %.

    Without what the card's state may have added to a trial, a slowdown or a gain.
    """

    ratio: float
    low: float
    high: float
    trials: int

    @property
    def text(self) -> str:
        return f"{self.ratio - 1:+.2%} [{self.low - 1:+.2%}, {self.high - 1:+.2%}] over {self.trials} trials"


@dataclass(frozen=True)
class Together:
    """Trials that are slower together than the policy allows. `repeat` is of those that were run again together.

    `again` is True where together they were slower again, False where not, None where too little was run again.
    """

    pairs: tuple[Pair, ...]
    found: Overall
    repeat: Overall | None
    again: bool | None

    @property
    def stands(self) -> bool:
        """It does until it was run again and did not come again."""
        return self.again is not False


def overall(pairs: Iterable[Pair]) -> Overall | None:
    return _mean((pair.weight, pair.change) for pair in carrying(pairs))


def together(pairs: Iterable[Pair], policy: Policy) -> Together | None:
    """None where they are not slower together."""
    some = carrying(pairs)
    found = overall(some)
    if found is None or not _slower(found, policy):
        return None
    # What is slower alone was run again alone, and says nothing of all.
    repeated = [pair for pair in some if pair.word not in AGAINST and _decides(pair.repeat)]
    repeat = _mean((pair.weight, pair.repeat) for pair in repeated)
    return Together(tuple(some), found, repeat, _came_again(overall(repeated), repeat, policy))


def _came_again(found: Overall | None, repeat: Overall | None, policy: Policy) -> bool | None:
    """Both of the trials that were run again: what these alone did not show they cannot deny."""
    if repeat and _slower(repeat, policy):
        return True
    return False if found and _slower(found, policy) else None


def carrying(pairs: Iterable[Pair]) -> list[Pair]:
    """Those that have a weight and a ratio, less those that were slower and did not come again."""
    return [pair for pair in pairs if pair.weight > 0 and pair.again is not False and _decides(pair.change)]


def _decides(change: Change | None) -> bool:
    """Whether the comparison's rule lets it decide."""
    return bool(change and change.p is not None and change.low and change.high)


def _slower(found: Overall, policy: Policy) -> bool:
    return found.low - 1 > policy.slower_overall


def _mean(weighed: Iterable[tuple[float, Change | None]]) -> Overall | None:
    """Half widths are added as independent."""
    logs = [(weight, *bounds) for weight, change in weighed if change and (bounds := _bounds(change))]
    if not logs:
        return None
    total = sum(weight for weight, _, _ in logs)
    middle = sum(weight * (low + high) / 2 for weight, low, high in logs) / total
    half = math.sqrt(sum((weight * (high - low) / 2) ** 2 for weight, low, high in logs)) / total
    return Overall(math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(logs))


def _bounds(change: Change) -> tuple[float, float] | None:
    """Of the logarithm, around what is left of the ratio; None where they are not known."""
    if not (change.low and change.high):
        return None
    added = math.log(change.ratio / change.nearest) if change.ratio and change.nearest else 0.0
    return math.log(change.low) - added, math.log(change.high) - added
