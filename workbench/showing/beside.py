"""One environment beside another: two points a trial, and no verdict."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.results import Results
from workbench.showing import panels
from workbench.showing.plot import COLOURS, Plot, rounded
from workbench.showing.timings import Timing, place, rest, said, shared, timings
from workbench.untrusted import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOW = "Measure with `workbench run`, or give this page a folder of results that has its times."
QUARTILES = (
    "Points are medians of the time on the device in one process, the newest; bars reach from the first to "
    "the third quartile of its samples."
)
NO_VERDICT = (
    "No verdict: figures of one process each cannot tell a change from the spread between processes; "
    "that takes interleaved processes of both."
)
MOST_PAIRS = 40


def side_by_side(results: Results, kernel: str, baseline: str, candidate: str) -> Plot:
    """Two environments, trial by trial; where one of them has no time the trial is left out."""
    found = timings(results.only(environment=[baseline, candidate]), kernel)
    by_name = {(repr(place(each.trial)[:3]), each.trial.environment): each for each in found}
    names = list(dict.fromkeys(name for name, _ in by_name))
    both = [(by_name.get((name, baseline)), by_name.get((name, candidate))) for name in names]
    pairs = [(before, after) for before, after in both if before and after]
    rows = [
        (before.trial.gpu, rest(before.trial, {}), before.trial.mode,
         rounded(before.median_us), rounded(after.median_us),
         rounded(after.median_us / before.median_us), f"{before.samples} | {after.samples}")
        for before, after in pairs
    ]  # fmt: skip
    cleaned = [tuple(plain(entry) for entry in row) for row in rows]
    title = f"{plain(kernel)}: {plain(baseline, 40)} beside {plain(candidate, 40)}"
    heads = ("gpu", "case", "mode", "baseline_us", "candidate_us", "ratio", "samples")
    left_out = (
        f" {len(pairs) - MOST_PAIRS} more trials are in the data only." if len(pairs) > MOST_PAIRS else ""
    )
    alone = len(both) - len(pairs)
    left_out += f" {alone} trials have a time on one side only and are left out." if alone else ""
    shared_words = said_of_all([each for pair in pairs for each in pair])
    alt = f"{title}. " + _ratios([after.median_us / before.median_us for before, after in pairs])
    return Plot(
        title, alt, f"{QUARTILES} {NO_VERDICT}{shared_words}{left_out}", heads, cleaned,
        lambda: _drawn(title, pairs[:MOST_PAIRS]), HOW,
    )  # fmt: skip


def _ratios(ratios: list[float]) -> str:
    if not ratios:
        return "No trial has a time in both."
    span = f"from {rounded(min(ratios))} to {rounded(max(ratios))}"
    return f"{len(ratios)} pairs; candidate over baseline {span}. The data stands below as text."


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


def _drawn(title: str, found: list[tuple[Timing, Timing]]) -> "Figure":
    """Each trial a row with two points: baseline above, candidate below."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(7.2, 1.6 + 0.42 * len(found)), layout="constrained")
    picture.suptitle(panels.wrapped(title, 66), x=0.01, ha="left", fontsize=12, fontweight="bold")
    axes = picture.subplots()
    for side, (offset, colour, marker) in enumerate(((-0.14, COLOURS[0], "o"), (0.14, COLOURS[1], "s"))):
        points = [pair[side] for pair in found]
        middles = [each.median_us for each in points]
        spread = [
            [each.median_us - each.q1_us for each in points],
            [each.q3_us - each.median_us for each in points],
        ]
        rows = [row + offset for row in range(len(found))]
        name = plain(points[0].trial.environment, 60)
        axes.errorbar(middles, rows, xerr=spread, fmt=marker, color=colour, label=name)
    axes.set_xscale("log")
    panels.plain_numbers(axes, "x")
    held = shared([before for before, _ in found])
    axes.set_yticks(range(len(found)), [_pair_label(before, held) for before, _ in found], fontsize=9)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlabel("median time, us (bars: quartiles; not a verdict)", fontsize=10)
    picture.legend(loc="outside lower left", fontsize=10)
    return picture


def _pair_label(each: Timing, held: Mapping[str, object]) -> str:
    parts = (rest(each.trial, held), plain(each.trial.mode, 20), plain(each.trial.gpu, 24))
    return panels.wrapped(", ".join(part for part in parts if part), 46)
