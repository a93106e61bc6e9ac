"""What autotuners chose: the tunings of each side in every row, their spread, and both sides at equal tactics."""

from collections.abc import Iterator
from itertools import combinations

from workbench.comparison import EXPLAINED, Change, Direction, compare, sides
from workbench.comparison.changes_text import tuned_side
from workbench.comparison.sides import Gathered, Side, gathered
from workbench.comparison.tunings import at_equal
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.tactics import TUNED, is_tuned
from workbench.untrusted import natural, plain

HEADS = ("kernel", "case", "mode", "environment", "tunings", "default", "run")
EMPTY = "No tuned trial is stored. `workbench run --interleave --generations 4 --mode graph+tuned` makes four a side."
NOTE = "Each process tunes anew. The default is the same call without tuning, in the same run."
EQUAL_HEADS = ("kernel", "case", "mode", "before", "after", "tactics", "change [95 %]", "verdict", "n")
EQUAL_EMPTY = "Nothing that was tuned, or at set tactics, is stored of two environments in one run."
EQUAL_NOTE = (
    "Tuned: the verdict is from the distribution of the tunings, four a side at least. Set: the same tactics on both "
    "sides, as the case says. By chance: tunings of both sides that picked the same tactics, without a verdict."
)


def tuned(results: Results) -> Shown:
    """A row for each trial that was tuned, in each run."""
    rows = tuple(row for side in sides(results) for row in _rows(results, side))
    return Shown(
        "What was tuned",
        HEADS,
        tuple(sorted(rows, key=lambda row: [natural(entry) for entry in row])),
        EMPTY,
        NOTE,
    )


def _rows(results: Results, side: Side) -> Iterator[tuple[str, ...]]:
    by_question = gathered(results, side)
    for asked, places in by_question.items():
        kernel, case, mode, gpu = asked
        for place, each in places.items():
            if each.tunings:
                untuned = by_question.get((kernel, case, mode.removesuffix(TUNED), gpu), {}).get(place)
                yield (
                    plain(kernel), plain(each.attempts[0].trial.label, 300), plain(mode), plain(side.label),
                    tuned_side(each.tunings), _default(untuned), plain(place[0]),
                )  # fmt: skip


def _default(untuned: Gathered | None) -> str:
    if untuned is None or untuned.time_us is None:
        return "not run"
    return f"{untuned.time_us:.4g} us, n={len(untuned.processes)}"


def equal_tactics(results: Results) -> Shown:
    """Two environments in one run: as tuned, at tactics that the case sets, and at tactics that both picked."""
    some = Results(tuple(each for each in results if _is_asked(each.trial.mode, each.trial.case)))
    environments = sorted({each.trial.environment for each in some}, key=natural)
    rows = [
        row
        for before, after in combinations(environments, 2)
        for change in compare(some, before, after)
        if change.ratio
        for row in _compared(before, change)
    ]
    return Shown(
        "Versions compared, tuned and at equal tactics", EQUAL_HEADS, tuple(rows), EQUAL_EMPTY, EQUAL_NOTE
    )


def _is_asked(mode: str, case: dict[str, object]) -> bool:
    return is_tuned(mode) or "tactics" in case


def _compared(before: str, change: Change) -> Iterator[tuple[str, ...]]:
    trial = change.trial
    head = (
        plain(trial.kernel),
        plain(trial.label, 300),
        plain(trial.mode),
        plain(before),
        plain(trial.environment),
    )
    bounds = (
        ""
        if change.low is None or change.high is None
        else f" [{change.low - 1:+.1%}, {change.high - 1:+.1%}]"
    )
    said = f"{(change.ratio or 1.0) - 1:+.1%}{bounds}"
    why = (
        "; ".join(EXPLAINED.get(each, each) for each in change.reasons)
        if change.verdict == Direction.AMBIGUOUS
        else ""
    )
    yield (
        *head,
        "as tuned" if change.tuned[0] else "set",
        said,
        f"{change.verdict} {why}".strip(),
        _n(change.processes),
    )
    for each in at_equal(change.tuned):
        yield *head, f"by chance: {each.tactic}", f"{each.ratio - 1:+.1%}", "none", _n(each.counts)


def _n(counts: tuple[int, int]) -> str:
    return f"{counts[0]}+{counts[1]}"
