"""Speed of trials that are right on both sides: the comparison's word, and what it means for a pin. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.comparison import Change, Direction, Rule, Side, compare, sides
from workbench.comparison.rules import EXPLAINED, IN_SEQUENCE, MOST_MORE
from workbench.comparison.sides import Question, question
from workbench.results import Results
from workbench.verdict.policy import Policy
from workbench.verdict.word import Word

HOST = "host timer"
STATES = ("clocks", "memory clocks", "anchor")
OBSTACLES = ("floor too high", *STATES, "assumed while throttled")
NO_RATIO = tuple(reason for reason, words in EXPLAINED.items() if words.endswith("no ratio"))


@dataclass(frozen=True)
class Speed:
    """`settle` and `more` say what would settle one that is undecided."""

    word: Word
    why: str
    change: Change
    settle: str = ""
    more: int = 0


def speeds(results: Results, baseline: str, candidate: str, policy: Policy) -> dict[Question, Speed]:
    """Each trial that was timed on both sides, by the run that tells most of it."""
    runs: dict[Question, list[Change]] = {}
    for change in _changes(results, baseline, candidate, policy.comparison()):
        if change.before_us and change.after_us:
            runs.setdefault(question(change.trial), []).append(change)
    judged = {asked: _of_runs(changes, policy) for asked, changes in runs.items()}
    return {asked: _without_host(asked, each, judged) for asked, each in judged.items()}


def _of_runs(changes: Sequence[Change], policy: Policy) -> Speed:
    """By the one that tells most; where the newest that tells anything says slower, it does not tell enough."""
    most = _speed(max(changes, key=_rank), policy)
    told = [change for change in changes if change.verdict != Direction.AMBIGUOUS]
    newest = _speed(max(told, key=lambda change: change.run), policy) if told else most
    if newest.word != Word.SLOWER or most.word == Word.SLOWER or newest.change.run <= most.change.run:
        return most
    return Speed(Word.UNDECIDED, f"{most.why}; a later run says {newest.why}", most.change, "noise")


def _changes(results: Results, baseline: str, candidate: str, rule: Rule) -> Iterator[Change]:
    """Of every run, its first arm on each side: the others are there to show the noise."""
    arms = [
        {side.arm for side in sides(results) if side.environment == name} for name in (baseline, candidate)
    ]
    seen: set[str] = set()
    for arm in sorted(arm for arm in arms[0] & arms[1] if arm is not None):
        yield from (
            change
            for change in compare(results, Side(baseline, arm), Side(candidate, arm), rule)
            if change.run not in seen or not change.run
        )
        seen |= {each.run for each in results if each.arm == arm and each.generation}


def _rank(change: Change) -> tuple[bool, int, str]:
    """A ratio before none, more processes before fewer, then the newer run, whose name begins with its time."""
    return change.ratio is not None, min(change.processes), change.run


def _speed(change: Change, policy: Policy) -> Speed:
    shown = _shown(change)
    if change.verdict == Direction.SLOWER and change.ratio is not None:
        return _slower(change, policy, shown)
    if change.verdict in (Direction.FASTER, Direction.SAME):
        return Speed(Word(change.verdict.lower()), shown, change)
    if (
        change.p is not None
        and change.high is not None
        and change.high - 1 <= max(change.limit, policy.slower)
    ):
        return Speed(Word.NOT_SLOWER, shown, change)
    return Speed(Word.UNDECIDED, f"{shown}: {_reason(change)}", change, *_settle(change, policy.comparison()))


def _slower(change: Change, policy: Policy, shown: str) -> Speed:
    """Where the card was not in the same state for both sides, the word must hold with and without it."""
    least, most = (
        (change.ratio, change.ratio) if change.nearest is None else (change.nearest, change.farthest)
    )
    allowed = f"{shown}: the policy allows {policy.slower:.1%}"
    if most is not None and most - 1 <= policy.slower:
        return Speed(Word.NOT_SLOWER, allowed, change)
    if least is not None and least - 1 > policy.slower:
        return Speed(Word.SLOWER, shown, change)
    return Speed(Word.UNDECIDED, f"{allowed}, and {_card(change)}", change, "calm")


def _card(change: Change) -> str:
    return "; ".join(EXPLAINED[reason] for reason in STATES if reason in change.reasons)


def _shown(change: Change) -> str:
    n = "" if change.ratio is None else ", n={}+{}".format(*change.processes)
    return change.percent + n


def _reason(change: Change) -> str:
    first = change.reasons[0] if change.reasons else "noise"
    return EXPLAINED.get(first, first)


def _settle(change: Change, rule: Rule) -> tuple[str, int]:
    reasons = set(change.reasons)
    if reasons & {*NO_RATIO, IN_SEQUENCE} or change.ratio is None:
        return "by turns", 0
    if HOST in reasons:
        return HOST, 0
    if min(change.processes) < rule.fewest:
        return "noise", rule.processes - min(change.processes)
    if reasons & set(OBSTACLES):
        return "calm", 0
    more = change.more_needed or 0
    return ("noise", more) if 0 < more < MOST_MORE else ("calm", 0)


def _without_host(asked: Question, each: Speed, judged: dict[Question, Speed]) -> Speed:
    """A time that holds the host's work is not judged where the same call is, in a mode that shows the device's."""
    if each.settle != HOST:
        return each
    kernel, case, _, gpu = asked
    others = (
        other for (a_kernel, a_case, _, a_gpu), other in judged.items()
        if (a_kernel, a_case, a_gpu) == (kernel, case, gpu) and other.settle != HOST
    )  # fmt: skip
    return Speed(Word.UNTIMED, each.why, each.change) if any(others) else each
