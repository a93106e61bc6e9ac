"""What was run, and how it ended: a row for each environment and kind of input, a column for each mode."""

from collections.abc import Sequence

from workbench.evidence.facts import ids
from workbench.results import FORENSIC_MODES, Outcome, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import Cell, chip, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import natural, plain
from workbench.verdict.ends import End, end

MODES = ("eager", "graph", "piecewise", "piecewise+fenced", "fenced", "fenced_start", "sanitized")
TILE = 128  # how many of K the kernel takes at a time, and for how many it reads scales
EMPTY = "Nothing of these kernels is stored. `workbench run --mode piecewise --mode piecewise+fenced ...` runs them."
NOTE = (
    "K is what is summed over: the hidden size of the first product, the intermediate size of the second. In each "
    "square: trials by how they ended; for those that failed in some processes, in how many. Behind a fence, and under "
    "the sanitizer, a read past a tensor is a crash; without one it is silent, and wrong only where no number lies."
)


def ran(results: Results) -> Shown:
    """By kernel, environment, and whether the scales end where the kernel stops to read."""
    rows: dict[tuple[str, ...], dict[str, list[tuple[Standing, End]]]] = {}
    by_trial = results.by_trial()
    for trial, standing in results.trials().items():
        ended = end(by_trial[trial])
        if trial.mode in MODES and ended and ended.known:
            row = rows.setdefault((trial.kernel, trial.environment, scales(trial)), {})
            row.setdefault(trial.mode, []).append((standing, ended))
    modes = [mode for mode in MODES if any(mode in row for row in rows.values())]
    ordered = sorted(rows.items(), key=lambda item: [natural(text) for text in item[0]])
    shown = tuple(
        (*map(plain, names), *(_square(row.get(mode, [])) for mode in modes)) for names, row in ordered
    )
    return Shown("Trials by mode", ("kernel", "environment", "input", *modes), shown, EMPTY, NOTE)


ENDED_HEADS = (
    "kernel",
    "input",
    "how it was called",
    "trials",
    "right",
    "wrong",
    "crashed",
    "otherwise",
    "ids",
)
CALLED = {True: "behind a fence, or under the sanitizer", False: "as a caller would"}


def ended(results: Results) -> Shown:
    """What crashed and what did not: trials by their worst process, over all environments."""
    groups: dict[tuple[str, str, bool], list[Standing]] = {}
    for trial, standing in results.trials().items():
        if trial.mode in MODES and standing.outcome != Outcome.NOT_RUN:
            groups.setdefault((trial.kernel, scales(trial), trial.mode in FORENSIC_MODES), []).append(
                standing
            )
    ordered = sorted(groups.items(), key=lambda item: [natural(str(text)) for text in item[0]])
    rows = tuple(
        (plain(kernel), plain(kind), CALLED[watched], *_counts(some))
        for (kernel, kind, watched), some in ordered
    )
    return Shown("What crashed, and what did not", ENDED_HEADS, rows, EMPTY)


def _counts(some: Sequence[Standing]) -> tuple[str, ...]:
    told = (Outcome.OK, Outcome.WRONG, Outcome.CRASHED)
    counts = [sum(each.outcome == outcome for each in some) for outcome in told]
    worst = sorted(some, key=lambda each: each.outcome == Outcome.OK)
    return str(len(some)), *map(str, counts), str(len(some) - sum(counts)), ids(worst)


def scales(trial: Trial) -> str:
    """`K=2880`, `K=2880, scales padded`, `K=3072, a multiple of 128`."""
    size = trial.case.get("intermediate" if trial.kernel == "mxfp4_combine" else "hidden")
    if trial.case.get("pad_scales"):
        return f"K={size}, scales padded"
    whole = isinstance(size, int) and size % TILE == 0
    return f"K={size}, a multiple of {TILE}" if whole else f"K={size}"


def _square(members: Sequence[tuple[Standing, End]]) -> Cell | str:
    """`5 ok`, `3 crashed`, `1 wrong in 1 of 6 processes`."""
    groups: dict[str, list[tuple[Standing, End]]] = {}
    for each in members:
        groups.setdefault(each[1].word if each[1].faults else "ok", []).append(each)
    lines = [chip(some[0][1].result.outcome, f"{len(some)} {word}") for word, some in groups.items()]
    return stacked(lines) if lines else legend.UNPLANNED.letter
