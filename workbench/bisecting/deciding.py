"""Attempts at one trial -> good, bad, or not to be told. Pure."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from workbench.results import Outcome, Result
from workbench.untrusted import plain
from workbench.verdict.speed import Speed
from workbench.verdict.word import Word

from .answer import Answer


class Until(StrEnum):
    """What makes an environment bad."""

    ANY = "any"  # wrong, crash or missing
    WRONG = "wrong"
    CRASH = "crash"
    MISSING = "missing"
    SLOWER = "slower"  # than the good end, by turns


FAULTS: Mapping[Until, frozenset[Outcome]] = {
    Until.WRONG: frozenset({Outcome.WRONG, Outcome.IMPLAUSIBLE}),
    Until.CRASH: frozenset({Outcome.CRASHED, Outcome.HUNG, Outcome.FAILED, Outcome.OUT_OF_MEMORY}),
    Until.MISSING: frozenset({Outcome.MISSING, Outcome.UNSUPPORTED}),
}
BEFORE_THE_CALL = ("install", "import")  # what fails there says nothing of the kernel
MACHINE = ("oom_host", "channel_corrupted")
DETAIL = 160
SPEEDS: Mapping[Word, Answer] = {
    Word.SLOWER: Answer.BAD,
    Word.SAME: Answer.GOOD,
    Word.NOT_SLOWER: Answer.GOOD,
    Word.FASTER: Answer.GOOD,
}


def answer_of(result: Result, until: Until) -> Answer:
    """What one attempt says. A function that was found is not missing, run or not."""
    faults = frozenset().union(*FAULTS.values()) if until == Until.ANY else FAULTS.get(until, frozenset())
    if result.outcome in faults and not _says_nothing(result):
        return Answer.BAD
    there = until == Until.MISSING and bool(result.found)
    return Answer.GOOD if there or result.outcome == Outcome.OK else Answer.UNKNOWN


def _says_nothing(result: Result) -> bool:
    unusable = result.stage in BEFORE_THE_CALL and result.outcome != Outcome.MISSING
    slow_build = result.outcome == Outcome.HUNG and result.stage == "build"
    return unusable or slow_build or result.reason in MACHINE


def decided(answers: Sequence[Answer], repeats: int) -> Answer | None:
    """From `repeats` that agree; where they do not, from as many again, or None while there are too few.

    What was bad once is never called good: it is bad if it always is from then on, else it cannot be told.
    """
    if len(answers) < repeats or (len(set(answers)) > 1 and len(answers) < 2 * repeats):
        return None
    last = set(answers[-repeats:])
    if len(last) > 1 or (last == {Answer.GOOD} and Answer.BAD in answers):
        return Answer.UNKNOWN
    return answers[-1]


def speed_answer(speed: Speed | None) -> Answer:
    return SPEEDS.get(speed.word, Answer.UNKNOWN) if speed else Answer.UNKNOWN


def said(attempts: Sequence[Result], answer: Answer, until: Until) -> str:
    """`crashed: killed by SIGSEGV (2 of 2 attempts)`: the newest attempt that says so; of a flaky one, its fault."""
    if not attempts:
        return "no attempt was made"
    answers = [(each, answer_of(each, until)) for each in attempts]
    faulty = [each for each, told in answers if told != Answer.GOOD]
    shown = ([each for each, told in answers if told == answer] or faulty or attempts)[-1]
    same = sum(each.outcome == shown.outcome for each in attempts)
    flaky = "flaky, " if same < len(attempts) else ""
    first = "" if shown.outcome == Outcome.OK else plain(shown.detail.partition("\n")[0], DETAIL)
    word = str(shown.outcome).replace("_", " ")
    return f"{word}{f': {first}' if first else ''} ({flaky}{same} of {len(attempts)} attempts)"
