"""How figures are laid out: small panels of one style, a colour an environment, a line style a mode."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.results import Results
from workbench.showing.plot import COLOURS, DASHES, MARKERS
from workbench.showing.timings import Timing, rest, shared
from workbench.untrusted import natural, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 8
Line = tuple[str, str]  # environment, mode
Lines = list[tuple[dict[str, Any], list[Timing]]]  # how to draw it, its points
Panels = dict[str, dict[Line, list[Timing]]]
MOST_NAMED = 16


@dataclass(frozen=True)
class Looks:
    """How each environment and mode is drawn: the same in all figures of a kernel."""

    environments: tuple[str, ...]
    modes: tuple[str, ...]

    @classmethod
    def of_all(cls, results: Results, kernel: str) -> "Looks":
        """Of all that was timed of it; more kernels have more environments than there are colours."""
        own = (each for each in results if each.time and each.trial.kernel == kernel)
        lines = {(each.trial.environment, each.trial.mode) for each in own}
        names = {(plain(environment, 60), plain(mode, 30)) for environment, mode in lines}
        first, second = (tuple(sorted({name[place] for name in names}, key=natural)) for place in (0, 1))
        return cls(first, second)

    def of(self, line: Line) -> dict[str, Any]:
        environment, mode = (
            names.index(name) if name in names else 0
            for names, name in zip((self.environments, self.modes), line, strict=True)
        )
        turn, colour = divmod(environment, len(COLOURS))  # with the same colour again, another marker
        return {
            "color": COLOURS[colour],
            "marker": MARKERS[(colour + turn) % len(MARKERS)],
            "linestyle": DASHES[mode % len(DASHES)],
        }


def grouped(found: list[Timing], key: str | None) -> Panels:
    """Panel (GPU if several, and what tells cases apart) -> line -> points along the axis."""
    panels: Panels = {}
    several = len({each.trial.gpu for each in found}) > 1
    without = {*shared(found), key or ""}
    for each in found:
        held = rest(each.trial, without)
        gpu = plain(each.trial.gpu, 40) if several else ""
        panel = panels.setdefault(": ".join(part for part in (gpu, held) if part), {})
        panel.setdefault((plain(each.trial.environment, 60), plain(each.trial.mode, 30)), []).append(each)
    return panels


def drawn(panels: Panels, key: str | None) -> Panels:
    """Those with several sizes: one point is no line, and is read better in the data."""
    along = {
        name: lines_of
        for name, lines_of in panels.items()
        if len({size for points in lines_of.values() for size in sizes(points, key)}) > 1
    }
    return dict(list(along.items())[:MOST_PANELS])


def left_out(panels: Panels, key: str | None) -> str:
    more = len(panels) - len(drawn(panels, key))
    return f" {more} more panel{'s are' if more > 1 else ' is'} in the data only." if more else ""


def figure(
    title: str, panels: Panels, key: str | None, draw: Callable[["Axes", Lines], None], axis: str,
    looks: Looks,
) -> "Figure":  # fmt: skip
    """One panel under the other while they are few, else two beside each other."""
    from matplotlib.figure import Figure

    shown = list(drawn(panels, key).items())
    across = 1 if len(shown) <= 2 else 2
    down = -(-len(shown) // across)
    used = list(dict.fromkeys(line for _, lines_of in shown for line in lines_of))
    named = max(len({line[place] for line in used}) for place in (0, 1))
    height = 2.8 * down + 0.8 + 0.2 * min(named, MOST_NAMED + 1)
    picture = Figure(figsize=(6.0 if across == 1 else 8.0, height), layout="constrained")
    picture.suptitle(wrapped(title, 58, 3), x=0.01, ha="left", fontsize=12, fontweight="bold")
    grid = picture.subplots(down, across, squeeze=False, sharey=True)
    for axes, (name, lines_of) in zip(grid.flat, shown, strict=False):
        axes.set_title(wrapped(name, 62 if across == 1 else 42, 3), fontsize=9.5, fontweight="normal")
        draw(axes, [(looks.of(line), points) for line, points in lines_of.items()])
        _sizes_axis(axes, key, lines_of)
    for axes in list(grid.flat)[len(shown) :]:
        axes.remove()
    for axes in grid[:, 0]:
        axes.set_ylabel(axis, fontsize=10)
    _legend(picture, used, looks)
    return picture


def _legend(picture: "Figure", used: list[Line], looks: Looks) -> None:
    """Colour and marker are the environment, the dashes are the mode: each is said once, below the panels."""
    from matplotlib.lines import Line2D

    environments, modes = (sorted({line[place] for line in used}, key=natural) for place in (0, 1))
    left = [Line2D([], [], label=name, **looks.of((name, ""))) for name in environments[:MOST_NAMED]]
    if len(environments) > MOST_NAMED:
        left.append(Line2D([], [], linestyle="", label=f"and {len(environments) - MOST_NAMED} more"))
    right = [
        Line2D([], [], color="#444", linestyle=looks.of(("", name))["linestyle"], label=name)
        for name in modes
    ]
    picture.legend(handles=left, loc="outside lower left", fontsize=9.5, handlelength=3)
    picture.legend(handles=right, loc="outside lower right", fontsize=9.5, handlelength=3)


def _sizes_axis(axes: "Axes", key: str | None, lines_of: dict[Line, list[Timing]]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    ticks = sorted({size for points in lines_of.values() for size in sizes(points, key)})
    if key and ticks[0] > 0:
        axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks] if key else [""] * len(ticks))
    axes.set_xlabel(plain(key or "case", 40), fontsize=10)
    axes.tick_params(labelsize=9.5)


def sizes(points: list[Timing], key: str | None) -> list[float]:
    """Where the points stand on the axis; in their order if the cases have no number to go by."""
    values = [each.trial.case.get(key) if key else None for each in points]
    return [
        float(value) if isinstance(value, int | float) else place
        for place, value in enumerate(values, start=1)
    ]


def hollow(
    axes: "Axes", across: list[float], up: list[float], chosen: list[bool], look: dict[str, Any]
) -> None:
    """Empties those of a line's points that are chosen."""
    empty = [(x, y) for x, y, wanted in zip(across, up, chosen, strict=True) if wanted]
    if empty:
        axes.plot(*zip(*empty, strict=True), **look | {"linestyle": ""}, markerfacecolor="white", zorder=3)


def plain_numbers(axes: "Axes", along: str = "y") -> None:
    """1, 2, 5, 10 instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis = axes.yaxis if along == "y" else axes.xaxis
    axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def wrapped(text: str, width: int, most: int = 2) -> str:
    """At most so many lines; what is cut off leaves a mark."""
    import textwrap

    return "\n".join(textwrap.wrap(text, width, max_lines=most, placeholder=" …"))
