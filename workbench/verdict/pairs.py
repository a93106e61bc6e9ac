"""One trial in two environments: what became of it, in one word, and whether that speaks for or against the second.

Pure. Faults come before speed, and what is not known is never right.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from workbench import gpus
from workbench.comparison.sides import Question, question
from workbench.planned import of_libraries
from workbench.results import FORENSIC_MODES, Outcome, Result, Results
from workbench.untrusted import plain
from workbench.verdict.again import confirmed, run_again
from workbench.verdict.ends import End, end, same_fault, surely_mended, worse
from workbench.verdict.pair import Pair
from workbench.verdict.policy import Policy
from workbench.verdict.speed import Speed, speeds
from workbench.verdict.word import Word

LONG_BUILD = " with --build"  # what a worker says that was not told to start one


def votes_at_all(mode: str) -> bool:
    """Latent faults and what was only compiled stand beside a verdict."""
    return not {mode, *mode.split("+")} & {*FORENSIC_MODES, "compiled"}


def pairs(results: Results, baseline: str, candidate: str, policy: Policy) -> list[Pair]:
    """Every trial of either side whose mode has a vote, in the order of first appearance."""
    results = of_libraries(results)
    before, after = (_attempts(results, name) for name in (baseline, candidate))
    families = _families(results)
    drafts = {
        asked: pair
        for asked in {**before, **after}
        if (pair := _pair(before.get(asked, []), after.get(asked, []), families, policy))
    }
    timed = speeds(_as_judged(results, drafts), baseline, candidate, policy)
    found = {asked: _judged(pair, timed.get(asked)) for asked, pair in drafts.items()}
    verified = run_again(results, after, found)
    again = speeds(verified, baseline, candidate, policy)
    before, after = (_attempts(verified, name) for name in (baseline, candidate))
    return [
        confirmed(pair, end(before.get(asked, [])), end(after.get(asked, [])), again.get(asked))
        for asked, pair in found.items()
    ]


def _pair(
    before: Sequence[Result], after: Sequence[Result], families: Mapping[str, str], policy: Policy
) -> Pair | None:
    """Not yet judged; None where neither side has more than reruns."""
    ends = end(before), end(after)
    if ends == (None, None):
        return None
    trial = (after or before)[0].trial
    family = families.get(trial.gpu, plain(trial.gpu))
    weight, required = policy.weight_of(trial), policy.requires(trial)
    return Pair(trial, family, weight, required, *ends, change=None, word=Word.NOT_KNOWN, why="")


def _as_judged(results: Results, drafts: Mapping[Question, Pair]) -> Results:
    """Without the times of other contents or of another kernel file than a trial is judged by."""
    kept = (
        each
        for each in results
        if each.rerun or (pair := drafts.get(question(each.trial))) is None or pair.same_contents(each)
    )
    return Results(tuple(kept), results.problems)


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
        return _also_slower(_faulty(pair, before, after), speed)
    if before.faults:
        mended = _mended(pair, before, after)
        return mended if surely_mended(before, after) else _also_slower(mended, speed)
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


def _also_slower(pair: Pair, speed: Speed | None) -> Pair:
    """A fault that some processes of a side had hides no slowdown of the others."""
    if (
        speed is None
        or speed.word != Word.SLOWER
        or pair.word not in (Word.MENDED, Word.UNCHANGED, Word.CHANGED)
    ):
        return pair
    return replace(pair, word=Word.SLOWER, why=f"{speed.why}; {pair.why}", change=speed.change)


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
            settle = "build" if LONG_BUILD in said else end_.result.reason
            return f"{side}: {end_.word}" + (f": {plain(said, 160)}" if said else ""), settle
    assert before and after
    files = {each.result.kernel_hash for each in (before, after) if each.result.kernel_hash}
    return ("the sides were run with different kernel files", "run") if len(files) > 1 else None


def _faulty(pair: Pair, before: End, after: End) -> Pair:
    said = after.result.detail.partition("\n")[0]
    detail = f": {plain(said, 200)}" if said else ""
    same = same_fault(before, after)
    if (worsened := worse(before, after)) is None:
        why = f"{after.word}, {_never_so(before)}: too few to tell{detail}"
        return replace(pair, word=Word.NOT_KNOWN, why=why, settle="flaky")
    if not before.faults:
        return replace(pair, word=Word.BROKEN, why=f"newly {after.word}{detail}")
    how = f"{before.word} became {after.word}{detail}"
    if worsened:
        how = f"{after.word} more often than before{detail}" if same else how
        return replace(pair, word=Word.BROKEN, why=how)
    if same:
        return replace(pair, word=Word.UNCHANGED, why=f"{after.word} on both sides{detail}")
    return replace(pair, word=Word.CHANGED, why=how)


def _never_so(before: End) -> str:
    if before.faults:
        return f"the baseline {before.word} and not so, in {before.processes}"
    return f"the baseline in none of {before.processes}"


def _mended(pair: Pair, before: End, after: End) -> Pair:
    chance = "" if surely_mended(before, after) else ", perhaps by chance"
    return replace(pair, word=Word.MENDED, why=f"{before.word} before, right {_of(after)}{chance}")


def _of(end_: End) -> str:
    return f"in {end_.processes} process{'es' * (end_.processes != 1)}"
