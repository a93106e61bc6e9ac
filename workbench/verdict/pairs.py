"""One trial in two environments: what became of it, in one word, and whether that speaks for or against the second.

Pure. Faults come before speed, and what is not known is never right.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from workbench import gpus
from workbench.comparison import Change, Direction
from workbench.comparison.sides import Question, question
from workbench.planned import of_libraries
from workbench.results import FORENSIC_MODES, Outcome, Result, Results, Trial
from workbench.untrusted import plain
from workbench.verdict.ends import End, end, more_often, same_fault, worse
from workbench.verdict.policy import Policy
from workbench.verdict.speed import Speed, speeds
from workbench.verdict.word import AGAINST, Word

VERIFIED = "verified"  # what `Result.rerun` says of a regression that was run again


@dataclass(frozen=True)
class Pair:
    """`why` says it in words; `settle` is what would settle it (a key of `settling`), with `more` processes a side.

    `again` is True where a regression came again when it was run again, False where not, None where it was not.
    """

    trial: Trial  # the candidate's, or the baseline's where the candidate has none
    family: str
    weight: float
    required: bool
    before: End | None
    after: End | None
    change: Change | None
    word: Word
    why: str
    settle: str = ""
    more: int = 0
    again: bool | None = None

    @property
    def votes(self) -> bool:
        return self.weight > 0 or self.required


def votes_at_all(mode: str) -> bool:
    """Latent faults and what was only compiled stand beside a verdict."""
    return not {mode, *mode.split("+")} & {*FORENSIC_MODES, "compiled"}


def pairs(results: Results, baseline: str, candidate: str, policy: Policy) -> list[Pair]:
    """Every trial of either side whose mode has a vote, in the order of first appearance."""
    results = of_libraries(results)
    told = {name: _attempts(results, name) for name in (baseline, candidate)}
    verified = Results(tuple(replace(each, rerun="") for each in results if each.rerun == VERIFIED))
    again = {name: _attempts(verified, name) for name in (baseline, candidate)}
    timed, timed_again = (speeds(each, baseline, candidate, policy) for each in (results, verified))
    families = _families(results)
    found = []
    for asked in {**told[baseline], **told[candidate]}:
        before, after = (end(told[name].get(asked, [])) for name in (baseline, candidate))
        if before is None and after is None:
            continue
        repeated = tuple(end(again[name].get(asked, [])) for name in (baseline, candidate))
        trial = (told[candidate].get(asked) or told[baseline][asked])[0].trial
        pair = Pair(
            trial, families.get(trial.gpu, trial.gpu), policy.weight_of(trial), policy.requires(trial),
            before, after, None, Word.NOT_KNOWN, "",
        )  # fmt: skip
        pair = _judged(pair, timed.get(asked))
        found.append(_confirmed(pair, repeated, timed_again.get(asked)))
    return found


def _attempts(results: Results, environment: str) -> dict[Question, list[Result]]:
    found: dict[Question, list[Result]] = {}
    for each in results:
        if each.trial.environment == environment and votes_at_all(each.trial.mode):
            found.setdefault(question(each.trial), []).append(each)
    return found


def _families(results: Iterable[Result]) -> dict[str, str]:
    """GPU's name -> family, from where it was told; a plan's line does not tell."""
    found = {"cpu": "CPU", "none": "no GPU"}
    for each in results:
        gpu = each.provenance.get("gpu")
        if isinstance(gpu, dict) and isinstance(gpu.get("sm"), str):
            found.setdefault(each.trial.gpu, plain(gpus.family(gpu["sm"])))
    return found


def _judged(pair: Pair, speed: Speed | None) -> Pair:
    before, after = pair.before, pair.after
    if _gone(before, after):
        return replace(
            pair, word=Word.BROKEN, why="newly missing; the baseline has it, though it was not run there"
        )
    if unknown := _unknown(before, after):
        return replace(pair, word=Word.NOT_KNOWN, why=unknown[0], settle=unknown[1])
    assert before and after
    if after.faults:
        return _faulty(pair, before, after)
    if before.faults:
        sure = more_often(after, before)
        return replace(
            pair,
            word=Word.MENDED,
            why=f"{before.word} before, right {_of(after)}" + ("" if sure else ", perhaps by chance"),
        )
    if speed is None:
        return replace(
            pair,
            word=Word.UNDECIDED,
            why="right on both sides, and never timed in one run",
            settle="by turns",
        )
    return replace(
        pair, word=speed.word, why=speed.why, settle=speed.settle, more=speed.more, change=speed.change
    )


def _gone(before: End | None, after: End | None) -> bool:
    """Whether a function that one side has is not to be found on the other: that takes no device to know."""
    if before is None or after is None or before.known or not before.result.found:
        return False
    return after.result.outcome == Outcome.MISSING and after.result.stage in ("import", "find")


def _unknown(before: End | None, after: End | None) -> tuple[str, str] | None:
    """Why nothing is known of a side, and what would settle it."""
    for end_, side in ((before, "baseline"), (after, "candidate")):
        if end_ is None:
            return f"{side}: not planned", "run"
        if not end_.known:
            said = end_.result.detail.partition("\n")[0]
            return f"{side}: {end_.word}" + (f": {plain(said, 160)}" if said else ""), end_.result.reason
    assert before and after
    files = {each.result.kernel_hash for each in (before, after) if each.result.kernel_hash}
    return ("the sides were run with different kernel files", "run") if len(files) > 1 else None


def _faulty(pair: Pair, before: End, after: End) -> Pair:
    said = after.result.detail.partition("\n")[0]
    detail = f": {plain(said, 200)}" if said else ""
    if before.faults and not same_fault(before, after):
        how = f"{before.word} became {after.word}{detail}"
        return replace(pair, word=Word.BROKEN if worse(before, after) else Word.CHANGED, why=how)
    often = more_often(before, after)
    if before.faults and not often:
        return replace(pair, word=Word.UNCHANGED, why=f"{after.word} on both sides{detail}")
    if often is None:
        why = f"{after.word}, the baseline in none of {before.processes}: too few to tell{detail}"
        return replace(pair, word=Word.NOT_KNOWN, why=why, settle="flaky")
    newly = f"{after.word} more often than before" if before.faults else f"newly {after.word}"
    return replace(pair, word=Word.BROKEN, why=f"{newly}{detail}")


def _of(end_: End) -> str:
    return f"in {end_.processes} process{'es' * (end_.processes != 1)}"


def _confirmed(pair: Pair, repeated: tuple[End | None, ...], again: Speed | None) -> Pair:
    """A regression that did not come again is none, and is not the opposite either."""
    before, after = repeated
    if pair.word not in AGAINST or before is None or after is None or not (before.known and after.known):
        return pair
    if pair.word == Word.SLOWER:
        came = again is not None and again.change.verdict == Direction.SLOWER
        said = again.why if again else "no time"
    else:
        assert pair.after
        came = (
            bool(after.faults)
            and after.result.outcome == pair.after.result.outcome
            and not (before.faults and same_fault(before, after))
        )
        said = f"{before.word} and {after.word}"
    if came:
        return replace(pair, again=True)
    why = f"{pair.why}; when run again: {said}"
    settle, word = ("noise", Word.UNDECIDED) if pair.word == Word.SLOWER else ("flaky", Word.NOT_KNOWN)
    return replace(pair, again=False, word=word, why=why, settle=settle)
