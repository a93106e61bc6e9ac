"""Changes for a terminal, in the manner of benchstat: a table a kernel, `n` in each row, `~` where none can tell."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.comparison.rules import EXPLAINED, MOST_MORE, SHORT_US, Direction
from workbench.comparison.tunings import Tuning, at_equal, by_tactic, middle_us, spread
from workbench.showing.tables import text_table
from workbench.showing.timings import rest, said
from workbench.untrusted import plain

if TYPE_CHECKING:
    from workbench.comparison.changes import Change, Changes

HEADS = ("case", "mode", "before", "after", "change [95 %]", "", "n", "limit", "more")


def text(changes: "Changes") -> str:
    shown = [change for change in changes if change.before_us or change.after_us or any(change.processes)]
    marks = _marks(shown)
    lines = list(_title(changes))
    for kernel, group in groupby(shown, key=lambda change: change.trial.kernel):
        lines += ["", *_block(kernel, list(group), marks)]
    lines += [""] if marks else []
    lines += [f"({mark}) {plain(reason)}{_explained(reason)}" for reason, mark in marks.items()]
    lines += [f"{len(changes) - len(shown)} more trials have no time on either side."] * (
        len(shown) < len(changes)
    )
    return "\n".join(lines)


def _title(changes: "Changes") -> Iterator[str]:
    rule = changes.rule
    yield f"before  {plain(changes.before.label)}"
    yield f"after   {plain(changes.after.label)}"
    yield f"rule    {rule.name}: the same is within ±{rule.margin:.1%}, ±{rule.short_margin:.1%} below {SHORT_US:g} us"
    yield "        n: processes before+after; Holm over the trials; each interval for itself"
    for (run, card), floor in sorted(changes.floors.items()):
        yield f"A/A     floor {floor:.2%} in run {plain(run)} on {plain(card)}"
    for (run, card), drift in sorted(changes.drifts.items()):
        yield f"anchor  range {drift:.2%} in run {plain(run)} on {plain(card)}"


def _block(kernel: str, group: Sequence["Change"], marks: dict[str, str]) -> Iterator[str]:
    cases = [change.trial.case for change in group]
    common = {
        name: value
        for name, value in cases[0].items()
        if len(cases) > 1 and all(name in case and repr(case[name]) == repr(value) for case in cases)
    }
    yield f"{plain(kernel)}  {said(common)}".strip()
    yield text_table(HEADS, [_row(change, common, marks) for change in group])
    for change in group:
        yield from _tuned(change, common)


def _tuned(change: "Change", common: dict[str, object]) -> Iterator[str]:
    """What the tunings of each side chose, and both sides at each tactic that both have."""
    if not any(change.tuned):
        return
    yield f"tunings of {rest(change.trial, common)}, {plain(change.trial.mode)}".strip()
    for word, side in zip(("before", "after "), change.tuned, strict=True):
        yield f"  {word}  {tuned_side(side)}"
    for each in at_equal(change.tuned):
        yield f"  at {each.tactic}: {_percent(each.ratio)}, n={each.counts[0]}+{each.counts[1]}, no verdict"


def tuned_side(side: Sequence[Tuning]) -> str:
    """`4 tunings, 26.2% apart: gemm1 R 33, gemm2 R 114 (3, 610 us); gemm1 R 20, gemm2 R 114 (1, 770 us)`."""
    apart = spread(side)
    far = "" if apart is None else f", {apart:.1%} apart"
    each = (
        f"{tactic} ({len(picked)}, {_time(middle_us(picked))})" for tactic, picked in by_tactic(side).items()
    )
    return f"{len(side)} tuning{'s' * (len(side) != 1)}{far}: {'; '.join(each)}"


def _row(change: "Change", common: dict[str, object], marks: dict[str, str]) -> tuple[str, ...]:
    footnotes = "".join(f"({marks[reason]})" for reason in change.reasons)
    return (
        rest(change.trial, common),
        plain(change.trial.mode),
        _time(change.before_us),
        _time(change.after_us),
        _change(change),
        f"{change.verdict} {footnotes}".strip(),
        "n={}+{}".format(*change.processes),
        f"±{change.limit:.1%}",
        _more(change.more_needed),
    )


def _marks(shown: Sequence["Change"]) -> dict[str, str]:
    reasons = dict.fromkeys(reason for change in shown for reason in change.reasons)
    return {reason: str(number) for number, reason in enumerate(reasons, start=1)}


def _explained(reason: str) -> str:
    return f": {EXPLAINED[reason]}" if reason in EXPLAINED else ""


def _time(time_us: float | None) -> str:
    if time_us is None:
        return "-"
    return f"{time_us:.4g} us" if time_us < 1000 else f"{time_us / 1000:.4g} ms"


def _change(change: "Change") -> str:
    shown = "~" if change.verdict == Direction.AMBIGUOUS else _percent(change.ratio)
    if change.low is None or change.high is None:
        return shown
    return f"{shown} [{_percent(change.low)}, {_percent(change.high)}]"


def _percent(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio - 1:+.2%}"


def _more(needed: int | None) -> str:
    if not needed:
        return "-"
    return f"{needed}{'+' if needed >= MOST_MORE else ''} a side"
