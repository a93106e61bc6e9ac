"""How often a change is found, against processes a side: a line for each change, and what each effort can see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.comparison import DEFAULT, RULES, Rule, Seen
from workbench.showing.plot import COLOURS, MARKERS, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS = (
    "rule", "change", "seen as", "processes a side", "found", "95 % interval", "independent", "draws", "FASTER",
    "SAME", "AMBIGUOUS",
)  # fmt: skip
PLANTED = (0.0, 0.01, 0.02, 0.05)  # one look each, on all figures
ASIDE, BESIDE = 0.11, 0.5
MARKS = (
    "Lines and filled points: the default rule. Hollow points: the rule `quick` with 1 process a side, and "
    "`thorough` with 12. Bars: 95 % intervals, whose n is the number of comparisons that share no process "
    "(`independent`), not the number of draws; without such comparisons there is no bar. `quick` decides nothing "
    "while a throttle reason is set; here it is asked as if none were set."
)


@dataclass(frozen=True)
class Rates:
    """Points by the name of their rule."""

    points: Mapping[str, Sequence[Seen]]

    @property
    def planted(self) -> list[float]:
        return sorted({each.planted for points in self.points.values() for each in points})

    def of(self, rule: str, planted: float) -> list[Seen]:
        return [each for each in self.points.get(rule, ()) if each.planted == planted and each.draws]


def plot(title: str, rates: Rates) -> Plot:
    rows = [
        _row(rule, each)
        for rule in RULES
        for planted in rates.planted
        for each in rates.of(rule, planted)
    ]  # fmt: skip
    return Plot(
        title, f"{title}. {said(rates)}", f"{said(rates)} {MARKS}", HEADS, rows, lambda: drawn(title, rates)
    )


def _row(rule: str, each: Seen) -> tuple[str, ...]:
    low, high = each.interval()
    counts = (str(each.independent), str(each.draws))
    shares = (f"{each.faster:.0%}", f"{each.same:.0%}", f"{each.ambiguous:.0%}")
    change = (f"{each.planted:+.0%}", f"{each.effect:+.2%}", str(each.processes))
    return (rule, *change, f"{each.found:.0%}", f"{low:.0%} to {high:.0%}", *counts, *shares)


def said(rates: Rates) -> str:
    """How often each effort, with its number of processes, finds each change."""
    return " ".join(filter(None, (_effort(rates, rule) for rule in RULES.values())))


def _effort(rates: Rates, rule: Rule) -> str:
    found = [each for planted in rates.planted for each in rates.of(rule.name, planted)]
    shares = [
        f"{each.planted:+.0%} in {each.found:.0%}" for each in found if each.processes == rule.processes
    ]
    counted = f"{rule.processes} process{'es' * (rule.processes > 1)} a side"
    return f"{rule.name.capitalize()} ({counted}) tells {', '.join(shares)}." if shares else ""


def drawn(title: str, rates: Rates) -> "Figure":
    from matplotlib.figure import Figure

    picture = Figure(figsize=(6.0, 4.4), layout="constrained")
    picture.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
    axes = picture.subplots()
    for place, planted in enumerate(rates.planted):
        _line(axes, rates, planted, place)
    for rule in RULES.values():
        axes.axvline(rule.processes, color="#8a94a0", linewidth=0.9, linestyle=":", zorder=0)
        axes.text(rule.processes, 1.04, rule.name, fontsize=9.5, ha="center", color="#3d454d")
    axes.set(ylim=(-0.04, 1.13), xlim=(0.4, 13), xticks=range(1, 13), yticks=[0, 0.25, 0.5, 0.75, 1])
    axes.set_yticklabels(["0", "25", "50", "75", "100"])
    axes.set_xlabel("processes a side", fontsize=10)
    axes.set_ylabel("told SLOWER (at +0%: either), %", fontsize=10)
    picture.legend(loc="outside lower left", ncols=2, fontsize=10, handlelength=3)
    return picture


def _line(axes: "Axes", rates: Rates, planted: float, place: int) -> None:
    """The default rule's points joined; those of the other rules alone. Neighbours a little apart, for the bars."""
    at = PLANTED.index(planted) if planted in PLANTED else len(PLANTED) + place
    look: dict[str, Any] = {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}
    aside = ASIDE * (place - (len(rates.planted) - 1) / 2)
    for name, rule in RULES.items():
        points = rates.of(name, planted)
        own = name == DEFAULT.name
        taken = not own and any(each.processes == rule.processes for each in rates.of(DEFAULT.name, planted))
        across = [each.processes + aside + taken * BESIDE for each in points]
        filled: dict[str, Any] = (
            {"label": f"{planted:+.0%}"} if own else {"markerfacecolor": "white", "linestyle": "none"}
        )
        axes.errorbar(
            across, [each.found for each in points], _bars(points), **look, **filled, elinewidth=0.9
        )


def _bars(points: Sequence[Seen]) -> list[list[float]]:
    """Lengths below and above; none where no comparison is independent."""
    ends = [
        (each.found, *(each.interval() if each.independent else (each.found, each.found))) for each in points
    ]
    return [[max(0.0, at - low) for at, low, _ in ends], [max(0.0, high - at) for at, _, high in ends]]
