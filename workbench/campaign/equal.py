"""Two environments in one run, as their tuners chose, at tactics that the case sets, and at those that both picked."""

from collections.abc import Iterator
from itertools import combinations

from workbench.comparison import EXPLAINED, Change, Direction, compare
from workbench.comparison.tunings import at_equal
from workbench.results import Result, Results
from workbench.showing.shown import Shown
from workbench.tactics import is_tuned
from workbench.untrusted import natural, plain

HEADS = ("kernel", "case", "mode", "before", "after", "tactics", "change [95 %]", "verdict", "n")
EMPTY = "Nothing that was tuned, or at set tactics, is stored of two environments in one run."
NOTE = (
    "Tuned: the verdict is from the distribution of the tunings, four a side at least. Set: the same tactics on both "
    "sides, as the case says. By chance: tunings of both sides that picked the same tactics, without a verdict."
)


def equal_tactics(results: Results) -> Shown:
    """A row for each trial that has a ratio, and one for each tactic that both of its sides picked."""
    some = Results(tuple(filter(_is_asked, results)))
    environments = sorted({each.trial.environment for each in some}, key=natural)
    rows = [
        row
        for before, after in combinations(environments, 2)
        for change in compare(some, before, after)
        if change.ratio
        for row in _rows(before, change)
    ]
    return Shown("Versions compared, tuned and at equal tactics", HEADS, tuple(rows), EMPTY, NOTE)


def _is_asked(result: Result) -> bool:
    return is_tuned(result.trial.mode) or "tactics" in result.trial.case


def _rows(before: str, change: Change) -> Iterator[tuple[str, ...]]:
    trial = change.trial
    names = (trial.kernel, trial.mode, before, trial.environment)
    kernel, mode, *sides = map(plain, names)
    head = (kernel, plain(trial.label, 300), mode, *sides)
    how = "as tuned" if change.tuned[0] else "set"
    yield *head, how, change.percent, _verdict(change), _n(change.processes)
    for each in at_equal(change.tuned):
        yield *head, f"by chance: {each.tactic}", f"{each.ratio - 1:+.1%}", "none", _n(each.counts)


def _verdict(change: Change) -> str:
    """With why it is none."""
    if change.verdict != Direction.AMBIGUOUS:
        return str(change.verdict)
    return f"{change.verdict} {'; '.join(EXPLAINED.get(each, each) for each in change.reasons)}".strip()


def _n(counts: tuple[int, int]) -> str:
    return "{}+{}".format(*counts)
