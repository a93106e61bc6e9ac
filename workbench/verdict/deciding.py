"""Pairs of a GPU family -> bump or hold (keep or revert, need data), and why. Pure.

The order: a regression holds whatever else is open; then what is open asks for data; only then a pass counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workbench.results import Results
from workbench.showing.told import telling
from workbench.untrusted import natural, plain
from workbench.verdict.pair import Pair
from workbench.verdict.pairs import pairs
from workbench.verdict.policy import DEFAULT, Policy
from workbench.verdict.together import Overall, Together, overall, together
from workbench.verdict.word import AGAINST, OPEN, PASSED, Word

NOTHING = "nothing stored"


class Answer(StrEnum):
    BUMP = "BUMP"
    HOLD = "HOLD"
    KEEP = "KEEP"
    REVERT = "REVERT"
    NEED_DATA = "NEED DATA"


@dataclass(frozen=True)
class Family:
    """`why` has a sentence for each thing that decided, `deciding` the trials that speak against the candidate.

    `together` are the trials that are slower together than allowed. `votes` is False for a family the policy does not
    name.
    """

    name: str
    answer: Answer
    pairs: tuple[Pair, ...]
    overall: Overall | None
    why: tuple[str, ...]
    deciding: tuple[Pair, ...] = ()
    together: Together | None = None
    votes: bool = True

    @property
    def gpus(self) -> list[str]:
        return sorted({pair.trial.gpu for pair in self.pairs}, key=natural)

    def having(self, *words: Word) -> list[Pair]:
        """Those with a vote."""
        return [pair for pair in self.pairs if pair.word in words and pair.votes]

    def counts(self) -> dict[Word, int]:
        return {word: len(self.having(word)) for word in Word if self.having(word)}


@dataclass(frozen=True)
class Verdict:
    """Of a candidate against a baseline. `current` is the one in use; `results` are those it speaks of."""

    baseline: str
    candidate: str
    current: str
    policy: Policy
    families: tuple[Family, ...]
    results: Results
    # By name, where it is known: what the user wrote, and the lock as it was built here; and what to ask again with.
    specs: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    locks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def answer(self) -> Answer:
        """The worst of the families that vote."""
        said = {family.answer for family in self.families if family.votes}
        order = (Answer.HOLD, Answer.REVERT, Answer.NEED_DATA, Answer.BUMP, Answer.KEEP)
        return next((each for each in order if each in said), Answer.NEED_DATA)

    @property
    def regressions(self) -> list[Pair]:
        return [pair for family in self.families if family.votes for pair in family.having(*AGAINST)]

    @property
    def slower_together(self) -> list[Together]:
        """Of each family that no single trial speaks against."""
        return [
            family.together
            for family in self.families
            if family.votes and family.together and not family.having(*AGAINST)
        ]

    def __repr__(self) -> str:
        from workbench.verdict.text import text

        return text(self)

    def _repr_html_(self) -> str:
        from workbench.verdict.page import html

        return html(self)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        from workbench.verdict.parts import answer

        said = answer(self)
        return telling(self._repr_html_(), repr(self), answer=[said.title, *said.lines])


def judge(
    results: Results, baseline: str, candidate: str, current: str = "", policy: Policy = DEFAULT
) -> Verdict:
    """Names are those of environments in the results. `current` empty: the baseline is in use.

    Raises ValueError where both are one environment.
    """
    if baseline == candidate:
        raise ValueError(
            f"{plain(baseline)} would be judged against itself; `workbench run --arms 2` and the page Measuring do that"
        )
    if current not in ("", baseline, candidate):
        raise ValueError(f"--current is one of the two: {plain(baseline)}, or {plain(candidate)}")
    every = pairs(results, baseline, candidate, policy)
    used = (Answer.KEEP, Answer.REVERT) if current == candidate else (Answer.BUMP, Answer.HOLD)
    families = [
        _family(name, [each for each in every if each.family == name], used, policy)
        for name in _names(every, policy)
    ]
    both = results.only(environment=[baseline, candidate])
    return Verdict(baseline, candidate, current or baseline, policy, tuple(families), both)


def _names(every: Sequence[Pair], policy: Policy) -> list[str]:
    """Those that have pairs or that the policy wants; a machine without a GPU only where there is no other."""
    there = {pair.family for pair in every}
    known = {name for name in there if name != "no GPU"} or there or {NOTHING}
    broken = {"no GPU"} & {pair.family for pair in every if pair.word == Word.BROKEN}
    return sorted(known | broken | set(policy.families), key=natural)


def _family(name: str, mine: Sequence[Pair], used: tuple[Answer, Answer], policy: Policy) -> Family:
    slower = together(mine, policy)
    against, open_ = _against(mine, slower, policy), _open(mine, slower, policy)
    passed = sum(pair.word in PASSED and pair.votes for pair in mine)
    answer = used[1] if against else Answer.NEED_DATA if open_ else used[0]
    why = against or open_ or [f"{passed} trials are no worse, none is worse"]
    deciding = _deciding([pair for pair in mine if pair.word in AGAINST and pair.votes], slower, policy)
    votes = name in policy.families if policy.families else True
    return Family(name, answer, tuple(mine), overall(mine), tuple(why), tuple(deciding), slower, votes)


def _against(mine: Sequence[Pair], slower: Together | None, policy: Policy) -> list[str]:
    single = {word: [pair for pair in mine if pair.word == word and pair.votes] for word in AGAINST}
    said = [f"{_trials(some)} {word}" for word, some in single.items() if some]
    if slower and slower.stands:
        said.append(
            f"all trials together are slower: {slower.found.text}, allowed {policy.slower_overall:.1%}"
        )
    return said


def _deciding(against: Sequence[Pair], slower: Together | None, policy: Policy) -> list[Pair]:
    """Those against, then those by which all together are slower, the slowest first."""
    others = [pair for pair in slower.pairs if pair not in against] if slower and slower.stands else []
    ratios = [(pair.change.ratio, pair) for pair in others if pair.change and pair.change.ratio]
    slow = [each for each in ratios if each[0] > 1 + policy.slower_overall]
    return [*against, *(pair for _, pair in sorted(slow, key=lambda each: -each[0]))]


def _open(mine: Sequence[Pair], slower: Together | None, policy: Policy) -> list[str]:
    needed = [pair for pair in mine if pair.required]
    said = [
        f"{_trials(those)} {'of which nothing is known' if word == Word.NOT_KNOWN else 'right, and too close to call'}"
        for word in OPEN
        if (those := [pair for pair in needed if pair.word == word])
    ]
    if slower and slower.repeat and not slower.stands:
        said.append(
            f"slower together, which did not come again: {slower.found.text}, then {slower.repeat.text}"
        )
    lacking = [each.text for each in policy.required if not any(each.fits(pair.trial) for pair in mine)]
    said += [f"required, and not there: {plain(each)}" for each in lacking]
    if not mine:
        return said or ["nothing is stored of it"]
    if not any(pair.word in PASSED and pair.votes for pair in mine) and not said:
        said.append("no trial is right on both sides, so nothing speaks for the change")
    return said


def _trials(some: Sequence[Pair]) -> str:
    return f"{len(some)} trial{'s' * (len(some) != 1)}"
