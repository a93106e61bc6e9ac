"""Kernels of our own that fail in known ways: does a fence stop them, and does a run survive them?"""

from workbench.evidence.facts import fault
from workbench.results import SANITIZED, Result, Results, Standing, Trial
from workbench.showing import legend
from workbench.showing.cells import chip
from workbench.showing.shown import Shown
from workbench.untrusted import natural, plain

PLANTED = "planted"
ZOO = ("gpu_faults", "ranked_cuda")
PLANTED_MODES = ("eager", "fenced", "fenced_start")
EMPTY = "Nothing of this is stored: `{}` makes it on a machine with a GPU."
PLANTED_NOTE = (
    "Each call reads `reach` bytes past a tensor, on the side that is named. A fence at the end must stop reads after "
    "the tensor, and a fence at the start reads before it. Neither may stop a call that reads only its own memory."
)
ZOO_NOTE = (
    "All in one run, with right trials in between. A further attempt or the sanitizer names the kernel."
)


def planted(results: Results) -> Shown:
    """A row for each planted read, a column for each mode."""
    rows: dict[str, dict[str, Standing]] = {}
    for trial, standing in results.only(kernel=[PLANTED]).trials().items():
        rows.setdefault(trial.label, {})[trial.mode] = standing
    made = tuple(
        (plain(label), *(_square(row.get(mode)) for mode in PLANTED_MODES)) for label, row in rows.items()
    )
    empty = EMPTY.format("python benchmarks/planted.py")
    return Shown("Planted reads", ("read", *PLANTED_MODES), made, empty, PLANTED_NOTE)


def zoo(results: Results) -> Shown:
    """A row for each way to fail: how it ended, at which stage, and the GPU kernel that was named."""
    found = results.only(kernel=ZOO)
    attempts: dict[Trial, list[Result]] = {}
    for each in found:
        attempts.setdefault(each.trial, []).append(each)
    named = {trial: fault(own) for trial, own in attempts.items()}
    rows = [
        (_how(trial), plain(trial.mode, 30), _square(standing), plain(standing.result.stage, 30),
         f"{known.kernel} ({known.by})" if (known := named[trial]) else "-")
        for trial, standing in found.trials().items()
    ]  # fmt: skip
    heads = ("it", "mode", "it ended", "stage", "GPU kernel")
    ordered = tuple(sorted(rows, key=lambda row: (row[1] in SANITIZED, natural(row[0]))))
    return Shown("Faults of our own", heads, ordered, EMPTY.format("pytest tests/test_gpu_zoo.py"), ZOO_NOTE)


def _how(trial: Trial) -> str:
    ranks = trial.case.get("ranks")
    return plain(f"{trial.case.get('how', '')}{f', one of {ranks} ranks' if ranks else ''}", 60)


def _square(standing: Standing | None) -> str:
    if standing is None:
        return "not run"
    result = standing.result
    sign = f"{legend.sign(result.outcome, result.reason)} {plain(result.reason, 60)}"
    return chip(result.outcome, f"{sign} ({standing.agree} of {standing.tried})")
