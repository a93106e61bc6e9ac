"""One environment beside another: two points a trial, a panel a mode, and no verdict."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from workbench.results import Results
from workbench.showing import panels
from workbench.showing.plot import COLOURS, Plot, rounded
from workbench.showing.timings import Timing, place, rest, said, shared, timings
from workbench.untrusted import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Pair = tuple[Timing, Timing]
HOW = "Measure with `workbench run`, or give this page a folder of results that has its times."
QUARTILES = (
    "Points are medians of the time on the device in one process, the newest; bars reach from the first to "
    "the third quartile of its samples."
)
NO_VERDICT = (
    "This is no verdict: with one process a side, a change cannot be told from the spread between processes. "
    "That takes several interleaved processes of both."
)
MOST_ROWS = 30
LABEL, LABEL_LINES = 44, 3


def side_by_side(results: Results, kernel: str, baseline: str, candidate: str) -> Plot:
    """Two environments, trial by trial; where one of them has no time the trial is left out."""
    found = timings(results.only(environment=[baseline, candidate]), kernel)
    by_name = {(repr(place(each.trial)[:3]), each.trial.environment): each for each in found}
    names = list(dict.fromkeys(name for name, _ in by_name))
    both = [(by_name.get((name, baseline)), by_name.get((name, candidate))) for name in names]
    pairs = [(before, after) for before, after in both if before and after]
    rows = [
        (" | ".join(dict.fromkeys((before.mode, after.mode))), before.trial.gpu, rest(before.trial, {}),
         rounded(before.median_us), rounded(after.median_us),
         rounded(after.median_us / before.median_us), f"{before.samples} | {after.samples}")
        for before, after in pairs
    ]  # fmt: skip
    cleaned = [tuple(plain(entry) for entry in row) for row in rows]
    gpus = dict.fromkeys(plain(before.trial.gpu, 40) for before, _ in pairs)
    names_of, both_have = apart(plain(baseline), plain(candidate))
    title = ", ".join([f"{plain(kernel)}: {' beside '.join(names_of)}", *both_have, *gpus])
    heads = ("mode", "gpu", "case", "baseline_us", "candidate_us", "ratio", "samples")
    shown = _by_row(pairs)
    more = len(shown) - MOST_ROWS
    left_out = f" {more} more rows are in the data only." if more > 0 else ""
    alone = len(both) - len(pairs)
    left_out += f" {alone} trials have a time on one side only and are left out." if alone else ""
    shared_words = said_of_all([each for pair in pairs for each in pair])
    alt = f"{title}. " + _ratios([after.median_us / before.median_us for before, after in pairs])
    return Plot(
        title, alt, f"{QUARTILES} {NO_VERDICT}{shared_words}{left_out}", heads, cleaned,
        lambda: _drawn(title, dict(list(shown.items())[:MOST_ROWS]), names_of), HOW,
    )  # fmt: skip


def apart(baseline: str, candidate: str) -> tuple[tuple[str, str], list[str]]:
    """What tells two names apart, and what both end with, to be said once: `both + triton_kernels 0.4.2.post1`."""
    one, other = baseline.split(" + "), candidate.split(" + ")
    same: list[str] = []
    while len(one) > 1 and len(other) > 1 and one[-1] == other[-1]:
        same.insert(0, one.pop())
        other.pop()
    return (" + ".join(one), " + ".join(other)), [f"both + {' + '.join(same)}"] if same else []


def _by_row(pairs: list[Pair]) -> dict[str, list[Pair]]:
    """Label of a row -> its pairs, one a mode. Nothing that all rows share is in a label."""
    held = shared([before for before, _ in pairs])
    several = len({before.trial.gpu for before, _ in pairs}) > 1
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(_row_label(pair[0], held, several), []).append(pair)
    return found


def _ratios(ratios: list[float]) -> str:
    if not ratios:
        return "No trial has a time in both."
    span = f"from {rounded(min(ratios))} to {rounded(max(ratios))}"
    return f"{len(ratios)} pairs; candidate over baseline {span}. The data is below as text."


def said_of_all(found: list[Timing], key: str | None = None) -> str:
    """How many samples a point has, and what all cases share: said in the note, not at every point."""
    counts = sorted({each.samples for each in found})
    samples = (
        f" {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} samples a point." if counts else ""
    )
    held = said({name: value for name, value in shared(found).items() if name != key})
    marks = dict.fromkeys(text for each in found for text in each.marks)
    marked = f" Marked: {'; '.join(marks)}." if marks else ""
    return samples + (f" All with {held}." if held else "") + marked


def _drawn(title: str, rows: dict[str, list[Pair]], names: tuple[str, str]) -> "Figure":
    """A panel for each mode beside the other, with the same rows: baseline above, candidate below."""
    from matplotlib.figure import Figure

    modes = list(dict.fromkeys(before.trial.mode for pairs in rows.values() for before, _ in pairs))
    lines = sum(label.count("\n") + 1 for label in rows)
    size = (4.2 + 2.2 * len(modes), 1.9 + 0.22 * len(rows) + 0.2 * lines)
    picture = Figure(figsize=size, layout="constrained")
    picture.suptitle(
        panels.wrapped(title, 12 * int(size[0]), 4), x=0.01, ha="left", fontsize=12, fontweight="bold"
    )
    grid = picture.subplots(1, len(modes), squeeze=False, sharex=True, sharey=True)[0]
    for axes, mode in zip(grid, modes, strict=True):
        places = [
            (row, pair)
            for row, pairs in enumerate(rows.values())
            for pair in pairs
            if pair[0].trial.mode == mode
        ]
        _panel(axes, places, names)
        axes.set_title(plain(mode, 30), fontsize=10.5)
    grid[0].set_yticks(range(len(rows)), list(rows), fontsize=9)
    grid[0].set_ylim(len(rows) - 0.4, -0.6)
    picture.supxlabel("median time, us (bars: quartiles; not a verdict)", fontsize=10)
    picture.legend(*grid[0].get_legend_handles_labels(), loc="outside lower left", fontsize=10)
    return picture


def _panel(axes: "Axes", places: list[tuple[int, Pair]], names: tuple[str, str]) -> None:
    for side, (offset, colour, marker) in enumerate(((-0.16, COLOURS[0], "o"), (0.16, COLOURS[1], "s"))):
        points = [pair[side] for _, pair in places]
        middles = [each.median_us for each in points]
        spread = [
            [each.median_us - each.q1_us for each in points],
            [each.q3_us - each.median_us for each in points],
        ]
        across = [row + offset for row, _ in places]
        label = panels.wrapped(names[side], 80, 3)
        axes.errorbar(middles, across, xerr=spread, fmt=marker, color=colour, label=label, markersize=5)
    axes.set_xscale("log")
    panels.plain_numbers(axes, "x")
    axes.tick_params(axis="x", labelsize=9)


def _row_label(each: Timing, held: Collection[str], several: bool) -> str:
    """Nothing else would tell the row apart: it is cut only with a mark, and hardly ever."""
    parts = (rest(each.trial, held), plain(each.trial.gpu, 40) if several else "")
    return panels.wrapped(", ".join(part for part in parts if part) or "the case", LABEL, LABEL_LINES)
