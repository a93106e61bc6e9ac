"""Two sides of the same runs -> Changes: estimate each trial, correct for their number, say the word and why."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.comparison.changes import Change, Changes
from workbench.comparison.checks import apart, by_host, notes, refusals, shifts
from workbench.comparison.estimate import Estimate, estimate, holm, more_needed
from workbench.comparison.floor import ByPlace, Floors, by_place, floors
from workbench.comparison.rules import (
    CHOSEN_ANEW_FEWEST,
    DEFAULT,
    FRAGILE,
    IN_SEQUENCE,
    LEVEL,
    WIDEST,
    Direction,
    Rule,
)
from workbench.comparison.sides import BySide, Gathered, Place, Question, Side, gathered, resolved
from workbench.results import Results
from workbench.showing.timings import place as order
from workbench.tactics import is_tuned


@dataclass(frozen=True)
class _Draft:
    """A change without its word. `family` holds while it may decide: only those share Holm's level.

    `nearest` and `farthest` from no difference are what it is without what the card's state may have added.
    """

    change: Change
    nearest: Estimate | None = None
    farthest: Estimate | None = None
    family: bool = False
    moved: tuple[str, ...] = ()


def compare(results: Results, before: Side | str, after: Side | str, rule: Rule = DEFAULT) -> Changes:
    """Every trial that either side has. Raises ValueError where there is no such side, or both are one."""
    before, after = resolved(before, results), resolved(after, results)
    if before == after:
        raise ValueError(f"{before.label} would be compared with itself: name two arms of it")
    floor = floors(results, but=(before, after))
    sides = gathered(results, before), gathered(results, after)
    placed = by_place(sides[0]), by_place(sides[1])
    drafts = [
        draft for asked in {**sides[0], **sides[1]} for draft in _drafts(asked, sides, placed, floor, rule)
    ]
    chances = holm([draft.nearest.p for draft in drafts if draft.nearest and draft.family])
    left = iter(chances)
    judged = [_judged(draft, next(left) if draft.family else None, len(chances)) for draft in drafts]
    judged.sort(key=lambda each: (each.trial.kernel, order(each.trial), each.run, each.card))
    return Changes(tuple(judged), before, after, rule, floor.all_runs(), _drifts(*placed))


def _drafts(
    asked: Question, sides: tuple[BySide, BySide], placed: tuple[ByPlace, ByPlace], floor: Floors, rule: Rule
) -> Iterator[_Draft]:
    before, after = (side.get(asked, {}) for side in sides)
    shared = sorted(at for at in before.keys() & after.keys() if before[at].timed and after[at].timed)
    if not shared:
        yield _Draft(_blank(list(before.values()), list(after.values()), apart(before, after), rule))
    for at in shared:
        held = [by_host(side[at][asked], side[at], asked) for side in placed]
        yield _draft(before[at], after[at], at, rule, floor.of_trial(at, asked), any(held))


def _blank(before: list[Gathered], after: list[Gathered], reasons: list[str], rule: Rule) -> Change:
    first = (after or before)[0].attempts[0]
    counts = sum(len(each.processes) for each in before), sum(len(each.processes) for each in after)
    ends = [
        f"{word} {side[0].outcome if side else 'not_run'}".replace("_", " ")
        for word, side in (("before", before), ("after", after))
        if f"no time {word}" in reasons
    ]
    return Change(
        first.trial, "", "", None, None, None, None, None, Direction.AMBIGUOUS, (*reasons, *ends), counts, None,
        rule.margin, None,
    )  # fmt: skip


def _draft(before: Gathered, after: Gathered, at: Place, rule: Rule, floor: float, held: bool) -> _Draft:
    refused, said = refusals(before, after, at), notes(before, after)
    margin = rule.margin_at(min(before.time_us or 0.0, after.time_us or 0.0))
    counts = len(before.processes), len(after.processes)
    change = Change(
        after.attempts[0].trial, *at, before.time_us, after.time_us, None, None, None,
        Direction.AMBIGUOUS, (*refused, *said), counts, None, max(margin, min(floor, WIDEST)), None,
        (before.tunings, after.tunings),
    )  # fmt: skip
    if refused:
        return _Draft(change)
    anew = is_tuned(change.trial.mode)
    fewest = max(rule.fewest, CHOSEN_ANEW_FEWEST) if anew else rule.fewest
    assumed = None if anew else rule.assumed_spread
    found = estimate(before.processes, after.processes, IN_SEQUENCE not in said, assumed, fewest)
    moved = shifts(before, after, rule)
    against = ["host timer"] * held + ["floor too high"] * (floor > WIDEST)
    if found and found.assumed and "throttled" in said:
        against.append("assumed while throttled")
    weak = {
        "few": found is None,
        "spread assumed": found is not None and found.assumed,
        "floor": margin < floor <= WIDEST,
    }
    reasons = (*against, *(reason for reason, holds in weak.items() if holds), *moved, *said)
    missing = None if found or against else max(rule.processes, fewest) - min(counts)
    change = replace(change, ratio=_ratio(before, after), reasons=reasons, more_needed=missing)
    if not found:
        return _Draft(change)
    change, (nearest, farthest) = _bounded(change, found), found.without(moved.values())
    if moved:
        bound = math.exp(farthest.log_ratio) if math.isfinite(farthest.log_ratio) else None
        change = replace(change, nearest=math.exp(nearest.log_ratio), farthest=bound)
    return _Draft(change, nearest, farthest, not against, tuple(moved))


def _ratio(before: Gathered, after: Gathered) -> float:
    return (after.time_us or math.nan) / (before.time_us or math.nan)


def _bounded(change: Change, found: Estimate) -> Change:
    low, high = (math.exp(found.log_ratio + side * found.half_width) for side in (-1, 1))
    return replace(change, low=low, high=high)


def _judged(draft: _Draft, chance: float | None, family: int) -> Change:
    change, found = draft.change, draft.nearest
    if chance is None or found is None:
        return change
    word = decided(found, math.log1p(change.limit), chance, draft.farthest)
    settled = word != Direction.AMBIGUOUS
    if draft.moved and not settled:
        others = (reason for reason in change.reasons if reason not in draft.moved)
        return replace(change, reasons=(*draft.moved, *others))
    more = 0 if settled else more_needed(found, math.log1p(change.limit), change.processes, family)
    fragile = found.fragile and chance <= LEVEL and abs(found.log_ratio) >= math.log1p(change.limit)
    said = ["by chance"] * fragile or ["noise"] * (not settled)
    reasons = (*said, *change.reasons)
    return replace(change, verdict=word, reasons=reasons, more_needed=more, p=chance)


def decided(found: Estimate, limit: float, chance: float, farthest: Estimate | None = None) -> Direction:
    """The rule itself. `limit` is a logarithm, `chance` the p-value after Holm.

    FASTER or SLOWER: the difference is significant, and at least the limit. SAME: the whole 95 % interval is inside
    the limit, also where the difference is the one `farthest` from none. AMBIGUOUS: neither.
    """
    least = max(limit, math.log1p(FRAGILE)) if found.fragile else limit
    if chance <= LEVEL and abs(found.log_ratio) >= least:
        return Direction.FASTER if found.log_ratio < 0 else Direction.SLOWER
    inside = abs((farthest or found).log_ratio) + found.half_width < limit
    return Direction.SAME if inside else Direction.AMBIGUOUS


def _drifts(before: ByPlace, after: ByPlace) -> dict[Place, float]:
    """How far the anchor's slowest visit is from its fastest, as a share, at each place both sides have."""
    found = {}
    for at in before.keys() & after.keys():
        timed = [each for side in (before, after) for trial in side[at].values() for each in trial.timed]
        visits = Gathered(timed).each("anchor_us")
        if visits:
            found[at] = max(visits) / min(visits) - 1
    return found
