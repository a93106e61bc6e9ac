"""What autotuners chose: the tunings of each side in every row, their tactics and their spread."""

from collections.abc import Iterator

from workbench.comparison import sides
from workbench.comparison.changes_text import tuned_side
from workbench.comparison.sides import Gathered, Side, gathered
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.tactics import TUNED
from workbench.untrusted import natural, part, plain

HEADS = ("kernel", "case", "mode", "environment", "tunings", "default", "module", "run")
EMPTY = "No tuned trial is stored. `workbench run --interleave --generations 4 --mode graph+tuned` makes four a side."
NOTE = (
    "Each process tunes anew. The default is the same call without tuning, in the same run. A tactic whose template "
    "a trimmed module lacks ends the process that tries it: tunings that came to their end without a failed try had "
    "the library's whole list."
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
                    tuned_side(each.tunings), _default(untuned), _module(each), plain(place[0]),
                )  # fmt: skip


def _module(side: Gathered) -> str:
    """What the module was made of, and how many tries of a tactic failed while it was tuned."""
    marks = sorted({mark for each in side.timed for mark in each.marks if "built ahead" in mark})
    failed = [part(each.time, "tuning", "failed") for each in side.timed]
    known = [count for count in failed if isinstance(count, int)]
    tries = f"{sum(known)} tries failed" if known else "failed tries not told"
    return plain("; ".join([*(marks or ["compiled whole"]), tries]), 200)


def _default(untuned: Gathered | None) -> str:
    if untuned is None or untuned.time_us is None:
        return "not run"
    return f"{untuned.time_us:.4g} us, n={len(untuned.processes)}"
