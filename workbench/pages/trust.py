"""How far the rule behind a comparison can be trusted, and what it costs: for the page on measuring."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from workbench.comparison import (
    DEFAULT,
    RULES,
    Direction,
    Rule,
    Seen,
    Side,
    compare,
    found_rates,
    power,
    sides,
)
from workbench.results import Results
from workbench.showing import rates
from workbench.showing.plot import Plot
from workbench.showing.shown import Shown
from workbench.strict_json import object_in
from workbench.untrusted import number, plain, whole

COUNTS = (3, 4, 5, 6, 8, 10, 12)  # processes a side
DRAWS = 400  # of each, from the processes there are


def cost(folder: str | Path) -> Shown:
    """What the tool itself takes, as `run --json` and benchmarks/isolated.py print it: a row for each such file."""
    empty = (
        "No such summary is stored: `workbench run --json` and `python benchmarks/isolated.py` print them."
    )
    found = {file.stem: object_in(file) for file in sorted(Path(folder).glob("*.json"))}
    rows = tuple((plain(name), *entries) for name, facts in found.items() if (entries := _taken(facts)))
    heads = ("what", "trials", "attempts", "wall time in s", "ratio")
    return Shown("What runs took, by their own summaries", heads, rows, empty)


def _taken(facts: dict[str, Any]) -> tuple[str, ...]:
    """Trials, attempts, seconds, ratio; nothing where it is neither summary nor ratio."""
    wall_s, ratio = number(facts, "wall_s"), number(facts, "ratio")
    if ratio is not None:
        return ("-", "-", "-", f"{ratio:.3f}")
    if wall_s is None:
        return ()
    outcomes = facts.get("outcomes")
    attempts = sum(whole(each) or 0 for each in outcomes.values()) if isinstance(outcomes, dict) else 0
    return (plain(facts.get("planned", "-")), str(attempts), f"{wall_s:.1f}", "-")


def equal_sides(results: Results) -> Shown:
    """A/A: what the rule said of each environment compared with itself, over all trials."""
    rows = []
    for one, two in _arms(results):
        changes = [each for each in compare(results, one, two, DEFAULT) if each.ratio is not None]
        if changes:
            rows.append((plain(one.environment), *_counts(changes)))
    heads = ("environment", "comparisons", "processes a side", "median |difference|", *map(str, Direction))
    words = "Equal sides: every FASTER or SLOWER here is false"
    return Shown(words, heads, tuple(rows), "No A/A run is stored: `workbench run --interleave --arms 2`.")


def _arms(results: Results) -> Iterable[tuple[Side, Side]]:
    named = [side for side in sides(results) if side.arm]
    return [(one, two) for one, two in combinations(named, 2) if one.environment == two.environment]


def _counts(changes: Sequence[Any]) -> tuple[str, ...]:
    off = median(abs(each.ratio - 1) for each in changes)
    processes = sorted({count for each in changes for count in each.processes})
    said = [sum(each.verdict == word for each in changes) for word in Direction]
    return (
        str(len(changes)),
        " to ".join(map(str, dict.fromkeys((processes[0], processes[-1])))),
        f"{off:.2%}",
        *map(str, said),
    )


def bound(results: Results) -> Shown:
    """An upper bound (95 %) for the share of false verdicts, from the number of A/A comparisons."""
    changes = [
        each for one, two in _arms(results) for each in compare(results, one, two, DEFAULT) if each.ratio
    ]
    false = sum(each.verdict in (Direction.FASTER, Direction.SLOWER) for each in changes)
    words = f"{false} of {len(changes)} comparisons of equal sides were called different"
    if changes and not false:
        words += f"; at 95 % confidence fewer than {1 - 0.05 ** (1 / len(changes)):.1%} of all are"
    return Shown("", (), (), f"{words}." if changes else "No A/A run is stored.")


def made(results: Results) -> Plot | Shown:
    """How often a change that was really made, with a dial, is found; by processes a side and rule."""
    return _rates(
        results,
        "A change that was really made",
        lambda rule, counts: found_rates(results, processes=counts, rule=rule, draws=DRAWS),
    )


def possible(results: Results) -> Plot | Shown:
    """How often a change of any size would be found: it is added to the noise between the stored processes."""
    return _rates(
        results,
        "A change added to the noise of all trials",
        lambda rule, counts: power(results, processes=counts, rule=rule, draws=DRAWS),
    )


def _rates(results: Results, title: str, of: Callable[[Rule, Sequence[int]], Sequence[Seen]]) -> Plot | Shown:
    counts = {rule.name: COUNTS if rule == DEFAULT else (rule.processes,) for rule in RULES.values()}
    gpus = ", ".join(sorted({plain(result.trial.gpu, 40) for result in results}))
    try:
        return rates.plot(
            f"{title}, {gpus}", rates.Rates({name: of(RULES[name], each) for name, each in counts.items()})
        )
    except ValueError as problem:
        return Shown("", (), (), f"Nothing to tell it from: {problem}.")
