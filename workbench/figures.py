"""Stored times as pictures: against size, against the physical floor, and one environment beside another."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.results import Results
from workbench.showing import panels
from workbench.showing.beside import HOW, QUARTILES, said_of_all, side_by_side
from workbench.showing.plot import Plot, rounded
from workbench.showing.shown import Shown
from workbench.showing.timings import LAUNCH_BOUND_US, Timing, ladder, rest, timings
from workbench.untrusted import natural, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ends", "floor_share", "latency", "side_by_side", "timed_kernels"]


def latency(results: Results, kernel: str) -> Plot | Shown:
    """Median time against tokens (or what the cases vary), a line an environment and mode.

    Without a size that varies it is a table.
    """
    found, key = _found(results, kernel)
    rows = [
        (
            *_names(each, key),
            rounded(each.median_us),
            rounded(each.q1_us),
            rounded(each.q3_us),
            str(each.samples),
        )
        for each in found
    ]

    def draw(axes: "Axes", lines: panels.Lines) -> None:
        axes.set_yscale("log")
        for look, points in lines:
            middles = [each.median_us for each in points]
            below = [each.median_us - each.q1_us for each in points]
            above = [each.q3_us - each.median_us for each in points]
            axes.errorbar(panels.sizes(points, key), middles, [below, above], **look)
            panels.hollow(axes, panels.sizes(points, key), middles, [each.throttled for each in points], look)
        panels.plain_numbers(axes)

    title = f"{plain(kernel)}: time on the device"
    heads = ("gpu", "case", key or "case", "mode", "environment", "median_us", "q1_us", "q3_us", "samples")
    note = QUARTILES + " Hollow points: the clocks were throttled." * any(each.throttled for each in found)
    looks = panels.Looks.of_all(results, kernel)
    return _plot(title, note, heads, rows, found, key, draw, "median time, us (bars: quartiles)", looks)


def floor_share(results: Results, kernel: str) -> Plot | Shown:
    """The physical floor over the median, in percent: 100 is as fast as the hardware can be; drawn as `latency`."""
    found, key = _found(results, kernel)
    found = [each for each in found if each.share is not None]
    rows = [(*_names(each, key), rounded(each.floor_us), _percent(each)) for each in found]

    def draw(axes: "Axes", lines: panels.Lines) -> None:
        for look, points in lines:
            shares = [100 * (each.share or 0) for each in points]
            axes.plot(panels.sizes(points, key), shares, **look)
            panels.hollow(
                axes, panels.sizes(points, key), shares, [each.launch_bound for each in points], look
            )
        axes.set_ylim(0, 105)

    title = f"{plain(kernel)}: share of the physical floor"
    heads = ("gpu", "case", key or "case", "mode", "environment", "floor_us", "share_percent")
    note = (
        "100 % is what bandwidth and arithmetic of this GPU allow at best. Hollow points are launch-bound: "
        f"their floor is under {LAUNCH_BOUND_US:g} us, less than a launch costs, so their share says little."
    )
    looks = panels.Looks.of_all(results, kernel)
    return _plot(title, note, heads, rows, found, key, draw, "share of the floor, %", looks)


def timed_kernels(results: Results) -> list[str]:
    """The kernels that have a time at all."""
    timed = {result.trial.kernel for result in results if result.time}
    return sorted(kernel for kernel in timed if timings(results, kernel))


def ends(results: Results) -> tuple[str, str]:
    """The two environments that have the most timed trials in common, the later one second.

    In natural order: `0.6.8` comes before `0.6.11`. Among equals, the two furthest apart.
    """
    timed: dict[str, set[tuple[str, str, str, str]]] = {}
    for result in results:
        if result.time:
            trial = result.trial
            timed.setdefault(trial.environment, set()).add((trial.kernel, trial.label, trial.mode, trial.gpu))
    names = sorted(timed, key=natural)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    if not pairs:
        return ("one environment", "another") if not names else (names[0], names[0])
    apart = {pair: names.index(pair[1]) - names.index(pair[0]) for pair in pairs}
    return max(pairs, key=lambda pair: (len(timed[pair[0]] & timed[pair[1]]), apart[pair]))


def _found(results: Results, kernel: str) -> tuple[list[Timing], str | None]:
    found = timings(results, kernel)
    return found, ladder(each.trial.case for each in found)


def _names(each: Timing, key: str | None) -> tuple[str, ...]:
    size = plain(each.trial.case.get(key, "-")) if key else "-"
    return (
        plain(each.trial.gpu),
        rest(each.trial, {key or ""}),
        size,
        plain(each.mode),
        plain(each.trial.environment),
    )


def _percent(each: Timing) -> str:
    return "launch-bound" if each.launch_bound else rounded(100 * (each.share or 0))


def _plot(
    title: str, note: str, heads: tuple[str, ...], rows: list[tuple[str, ...]], found: list[Timing],
    key: str | None, draw: Callable[..., None], axis: str, looks: panels.Looks,
) -> Plot | Shown:  # fmt: skip
    groups = panels.grouped(found, key)
    gpus = {plain(each.trial.gpu, 40) for each in found}
    drawn = f"{title}, {gpus.pop()}" if len(gpus) == 1 else title
    shared = said_of_all(found, key)
    if groups and not panels.drawn(groups, key):
        return Shown(drawn, heads, tuple(rows), HOW, shared.strip())
    note += shared + panels.left_out(groups, key)
    alt = f"{title}. {_range(heads, rows)}"
    return Plot(
        title, alt, note, heads, rows, lambda: panels.figure(drawn, groups, key, draw, axis, looks), HOW,
    )  # fmt: skip


def _range(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    value = next((head for head in ("median_us", "share_percent") if head in heads), "")
    told = [row[heads.index(value)] for row in rows] if value else []
    numbers = [float(each) for each in told if each != "launch-bound"]
    environments = list(dict.fromkeys(row[heads.index("environment")] for row in rows))
    unit = "us" if value == "median_us" else "percent"
    span = (
        f"from {rounded(min(numbers))} to {rounded(max(numbers))} {unit}"
        if numbers
        else "all launch-bound"
        if rows
        else "no data"
    )
    return f"{len(rows)} points {span}; lines for {', '.join(environments[:8])}. The data is below as text."
