"""Trials that were run again: whether each regression came again. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.comparison import Direction
from workbench.comparison.sides import Question, question
from workbench.results import Result, Results
from workbench.verdict.ends import End, came_again
from workbench.verdict.pair import VERIFIED, Pair
from workbench.verdict.speed import Speed
from workbench.verdict.word import AGAINST, Word


def run_again(
    results: Results, told: Mapping[Question, Sequence[Result]], found: Mapping[Question, Pair]
) -> Results:
    """What was run again, regressions and times: of the same contents, and after all in which it was found."""
    since = {
        asked: max((each.when for each in _finding(pair, told[asked])), default="")
        for asked, pair in found.items()
        if pair.word in AGAINST or pair.change
    }

    def tells(each: Result) -> bool:
        asked = question(each.trial)
        if each.rerun != VERIFIED or asked not in since or "" < each.when < since[asked]:
            return False
        return found[asked].same_contents(each)

    return Results(tuple(replace(each, rerun="") for each in results if tells(each)))


def _finding(pair: Pair, told: Sequence[Result]) -> list[Result]:
    """The candidate's attempts by which it is judged."""
    if pair.change:
        return [each for each in told if each.run == pair.change.run and not each.rerun]
    return [one for faults in pair.after.each for one in faults] if pair.after else []


def confirmed(pair: Pair, before: End | None, after: End | None, again: Speed | None) -> Pair:
    """A regression that did not come again is none, and is not the opposite either."""
    pair = replace(pair, repeat=again.change if again else None)
    if pair.word not in AGAINST or before is None or after is None or not (before.known and after.known):
        return pair
    if pair.word == Word.SLOWER:
        came: bool | None = again is not None and again.change.verdict == Direction.SLOWER
        said = again.why if again else "no time"
    else:
        assert pair.before and pair.after
        came = came_again((pair.before, pair.after), (before, after))
        said = f"{before.word} and {after.word}"
    if came is not False:
        return replace(pair, again=came)
    why = f"{pair.why}; when run again: {said}"
    settle, word = ("noise", Word.UNDECIDED) if pair.word == Word.SLOWER else ("flaky", Word.NOT_KNOWN)
    return replace(pair, again=False, word=word, why=why, settle=settle)
