"""How far the stopwatch and its rule can be trusted: the tables of the page on measuring."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from workbench.comparison import DEFAULT, Direction, Seen, Side, compare, found_rates, power, sides
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.untrusted import number, plain, whole

CLOCK = "by the GPU's clock"
TIMERS = (
    "ours", "ours: events", "cuda-bench (nvbench)", "ncu", "triton do_bench", "triton do_bench_cudagraph",
    "flashinfer bench_gpu_time",
)  # fmt: skip


def truth(file: str | Path) -> Shown:
    """Every timer on the same calls in one sitting, from what `benchmarks/truth.py` wrote; microseconds."""
    empty = f"No {Path(file).name}: `python benchmarks/truth.py` makes one on a machine with a GPU."
    stored = _stored(file)
    if not stored:
        return Shown("", (), (), empty)
    rows = tuple(
        (plain(row.get("call", "")), *(_us(row, name) for name in (CLOCK, *TIMERS))) for row in stored["rows"]
    )
    words = f"{plain(stored.get('gpu', ''))}, {plain(stored.get('date', ''))}: medians in us; - where none was taken"
    return Shown(words, ("call", CLOCK, *TIMERS), rows)


def cost(folder: str | Path) -> Shown:
    """What the tool itself takes, as `run --json` and benchmarks/isolated.py print it: a row for each such file."""
    empty = (
        "No such summary is stored: `workbench run --json` and `python benchmarks/isolated.py` print them."
    )
    found = {file.stem: _object(file) for file in sorted(Path(folder).glob("*.json"))}
    rows = tuple((plain(name), *entries) for name, facts in found.items() if (entries := _taken(facts)))
    heads = ("what", "trials", "attempts", "wall time in s", "ratio")
    return Shown("What runs took, as they said it themselves", heads, rows, empty)


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


def _object(file: Path) -> dict[str, Any]:
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _stored(file: str | Path) -> dict[str, Any]:
    """An object with a list `rows` of objects; empty where the file is not that."""
    stored = _object(Path(file))
    rows = stored.get("rows")
    return (
        {**stored, "rows": [row for row in rows if isinstance(row, dict)]} if isinstance(rows, list) else {}
    )


def _us(row: dict[str, Any], name: str) -> str:
    value = number(row, name)
    return f"{value:.4g}" if value is not None else "-"


def equal_sides(results: Results) -> Shown:
    """A/A: each environment's arms against each other, all trials; what was said of sides that are equal."""
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
    """The bound that the number of equal comparisons gives for the share of false verdicts, with 95 %."""
    changes = [
        each for one, two in _arms(results) for each in compare(results, one, two, DEFAULT) if each.ratio
    ]
    false = sum(each.verdict in (Direction.FASTER, Direction.SLOWER) for each in changes)
    words = f"{false} of {len(changes)} comparisons of equal sides were called different"
    if changes and not false:
        words += f"; with 95 %, under {1 - 0.05 ** (1 / len(changes)):.1%} are"
    return Shown("", (), (), f"{words}." if changes else "No A/A run is stored.")


def made(results: Results) -> Shown:
    """How often a change that a dial really made gets its word, by processes a side."""
    return _rates(found_rates, results, "A change that was made, as the default rule finds it")


def possible(results: Results) -> Shown:
    """The same of any change, added to the noise between the processes of these results."""
    return _rates(
        lambda found: power(found, draws=400), results, "A change as the default rule would find it"
    )


def _rates(rates: Callable[[Results], Sequence[Seen]], results: Results, words: str) -> Shown:
    try:
        points = rates(results)
    except ValueError as problem:
        return Shown("", (), (), f"Nothing to tell it from: {problem}.")
    rows = tuple(
        (f"{each.effect:+.2%}", str(each.processes), str(each.draws), f"{each.slower:.0%}", f"{each.faster:.0%}",
         f"{each.same:.0%}", f"{each.ambiguous:.0%}")
        for each in points if each.draws
    )  # fmt: skip
    return Shown(
        words, ("change", "processes a side", "draws", "SLOWER", "FASTER", "SAME", "AMBIGUOUS"), rows
    )
