"""Attempts made beyond the plan to explain a fault: how they ended and what they named."""

from collections import Counter

from workbench.evidence.facts import fault, only
from workbench.evidence.probe import rerun_of
from workbench.results import Result, Results, Trial
from workbench.showing import legend
from workbench.showing.cells import chip
from workbench.showing.shown import Shown
from workbench.untrusted import normalised, plain

HEADS = (
    "trial",
    "kernel",
    "case",
    "mode",
    "environment",
    "rerun",
    "it ended",
    "GPU kernel",
    "named by",
    "error",
)
EMPTY = (
    "No rerun is stored. `workbench run` makes one by itself after an asynchronous CUDA error, with launches "
    "blocking and, where the machine has cuda-gdb, a GPU core dump."
)
NOTE = (
    "A rerun explains its trial and does not count in it. What names the kernel, the best first: a core dump, the "
    "sanitizer, the text of an error, and a blocking launch, which knows only the Python frame."
)


def located(results: Results) -> Shown:
    """A row for each trial and kind of rerun; narrowed ones are with what was touched."""
    rows = []
    for trial, reruns in rerun_of(results).items():
        kinds = dict.fromkeys(each.rerun for each in reruns if not only(each))
        rows += [_row(trial, kind, [each for each in reruns if each.rerun == kind]) for kind in kinds]
    return Shown("Reruns", HEADS, tuple(rows), EMPTY, NOTE)


def _row(trial: Trial, kind: str, reruns: list[Result]) -> tuple[str, ...]:
    ended = Counter(legend.sign(each.outcome, each.reason) + f" {plain(each.reason, 60)}" for each in reruns)
    said = ", ".join(f"{sign} ({count} of {len(reruns)})" for sign, count in ended.most_common())
    named = fault(reruns)
    error = (named.error if named else "") or normalised(reruns[-1].detail)
    return (
        trial.id, plain(trial.kernel), plain(trial.label, 300), plain(trial.mode, 30), plain(trial.environment),
        plain(kind, 30), chip(reruns[-1].outcome, said), named.kernel if named else "not known",
        named.by if named else "-", error,
    )  # fmt: skip
