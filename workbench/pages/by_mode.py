"""Trials that are right when called eagerly and fail when called otherwise, as in a ladder of graphs."""

from workbench.evidence.facts import ids
from workbench.results import Outcome, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import Cell, chip, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import natural, plain

FIRST = "eager"
HEADS = ("kernel", "case", "environment", "right in", "fails in", "ids")
NOTE = "`workbench show --columns mode` has all modes of a case side by side."

Key = tuple[str, str, str, str]


def by_mode(results: Results) -> Shown:
    """A row for each case of a kernel in an environment, on a GPU, that is right eagerly and fails in another mode."""
    groups: dict[Key, list[Standing]] = {}
    for trial, standing in results.trials().items():
        groups.setdefault(_key(trial), []).append(standing)
    tried = [some for some in groups.values() if _right(some) and len(some) > 1]
    rows = tuple(_row(some) for some in tried if any(each.against for each in some))
    caption = f"Right in eager, and not in another mode: {len(rows)} of {len(tried)}"
    empty = f"Of {len(tried)} cases that are right in eager and were run in another mode, none fails there."
    return Shown(
        caption, HEADS, tuple(sorted(rows, key=lambda row: [natural(each) for each in row])), empty, NOTE
    )


def _key(trial: Trial) -> Key:
    return trial.kernel, trial.case_text, trial.environment, trial.gpu


def _right(some: list[Standing]) -> bool:
    return any(each.result.trial.mode == FIRST and each.outcome == Outcome.OK for each in some)


def _row(some: list[Standing]) -> tuple[str, ...]:
    trial = some[0].result.trial
    right = [each.result.trial.mode for each in some if each.outcome == Outcome.OK]
    failing = [each for each in some if each.against]
    names = plain(trial.kernel), plain(trial.label, 300), plain(trial.environment)
    return *names, ", ".join(map(plain, right)), stacked(map(_said, failing)), ids(failing)


def _said(standing: Standing) -> Cell:
    """`piecewise: wrong: worst row off by 0.2 [at size 4096 of the ladder, in replay]`."""
    result = standing.result
    detail = result.detail.partition("\n")[0]
    where = f": {detail}" if detail else ""
    return chip(result.outcome, plain(f"{result.trial.mode}: {legend.word(standing)}{where}", 300))
