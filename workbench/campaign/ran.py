"""What was run, and how it ended: by kind of input, by environment, by mode."""

from collections.abc import Iterator, Sequence

from workbench.evidence.facts import ids
from workbench.results import FORENSIC_MODES, Outcome, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import Cell, chip, stacked
from workbench.showing.shown import Shown, Tables
from workbench.untrusted import natural, plain
from workbench.verdict.ends import End, end

MODES = ("eager", "graph", "piecewise", "piecewise+fenced", "fenced", "fenced_start", "sanitized")
CALLED = {True: "fenced or sanitized", False: "as a caller would"}
ENDED_HEADS = ("kernel", "input", "called", "trials", "right", "wrong", "crashed", "otherwise", "ids")
EMPTY = "Nothing of these kernels is stored. `workbench run --mode piecewise --mode piecewise+fenced ...` runs them."
ENDED_NOTE = (
    "K is what is summed over: the hidden size of the first product, the intermediate size of the second. Behind a "
    "fence, and under the sanitizer, a read past a tensor is a crash; without one it is silent, and wrong only where "
    "what lies there is no number. A trial counts by its worst process."
)
RAN_NOTE = "In each square: trials by how they ended; for those that failed in some processes, in how many."

Row = dict[str, list[tuple[Standing, End]]]
"""Mode -> the trials that were run in it."""


def ended(results: Results) -> Shown:
    """What crashed and what did not, over all environments."""
    groups: dict[tuple[str, str, bool], list[Standing]] = {}
    for trial, standing in results.trials().items():
        if trial.mode in MODES and standing.outcome != Outcome.NOT_RUN:
            watched = trial.mode in FORENSIC_MODES
            groups.setdefault((trial.kernel, scales(trial), watched), []).append(standing)
    ordered = sorted(groups.items(), key=lambda item: [natural(str(text)) for text in item[0]])
    rows = tuple(
        (plain(kernel), plain(kind), CALLED[watched], *_counts(some))
        for (kernel, kind, watched), some in ordered
    )
    return Shown("What crashed, and what did not", ENDED_HEADS, rows, EMPTY, ENDED_NOTE)


def _counts(some: Sequence[Standing]) -> tuple[str, ...]:
    told = (Outcome.OK, Outcome.WRONG, Outcome.CRASHED)
    counts = [sum(each.outcome == outcome for each in some) for outcome in told]
    worst = sorted(some, key=lambda each: each.outcome == Outcome.OK)
    return str(len(some)), *map(str, counts), str(len(some) - sum(counts)), ids(worst)


def ran(results: Results) -> Tables:
    """A table a kernel: a row for each environment and kind of input, a column for each mode."""
    kernels: dict[str, dict[tuple[str, str], Row]] = {}
    for trial, standing, how in _known(results):
        row = kernels.setdefault(trial.kernel, {}).setdefault((trial.environment, scales(trial)), {})
        row.setdefault(trial.mode, []).append((standing, how))
    tables = [_table(kernel, rows) for kernel, rows in sorted(kernels.items())]
    return Tables(tables or [Shown("", (), (), EMPTY)])


def _known(results: Results) -> Iterator[tuple[Trial, Standing, End]]:
    by_trial = results.by_trial()
    for trial, standing in results.trials().items():
        how = end(by_trial[trial])
        if trial.mode in MODES and how and how.known:
            yield trial, standing, how


def _table(kernel: str, rows: dict[tuple[str, str], Row]) -> Shown:
    modes = [mode for mode in MODES if any(mode in row for row in rows.values())]
    ordered = sorted(rows.items(), key=lambda item: [natural(text) for text in item[0]])
    shown = ((*map(plain, names), *(_square(row.get(mode, [])) for mode in modes)) for names, row in ordered)
    return Shown(
        f"{plain(kernel)}: trials by mode", ("environment", "input", *modes), tuple(shown), "", RAN_NOTE
    )


def scales(trial: Trial) -> str:
    """`K=2880`, or `K=2880, padded` where the groups of scales are."""
    size = trial.case.get("intermediate" if trial.kernel == "mxfp4_combine" else "hidden")
    return f"K={size}" + ", padded" * bool(trial.case.get("pad_scales"))


def _square(members: Sequence[tuple[Standing, End]]) -> Cell | str:
    """`5 ok`, `3 crashed`, `1 wrong in 1 of 6 processes`."""
    groups: dict[str, list[End]] = {}
    for _, how in members:
        groups.setdefault(how.word if how.faults else "ok", []).append(how)
    lines = [chip(some[0].result.outcome, f"{len(some)} {word}") for word, some in groups.items()]
    return stacked(lines) if lines else legend.UNPLANNED.letter
