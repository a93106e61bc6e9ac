"""Null controls: comparisons of environments that run the same code; any verdict there is a false alarm, and counts."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

from workbench.campaign.same_code import controls, load
from workbench.evidence.facts import MOST_IDS
from workbench.results import Results
from workbench.showing.shown import Shown
from workbench.untrusted import plain
from workbench.verdict.pairs import Pair, pairs
from workbench.verdict.policy import DEFAULT
from workbench.verdict.word import Word

OF_SPEED = (Word.SLOWER, Word.FASTER)
OF_OUTCOME = (Word.BROKEN, Word.MENDED, Word.CHANGED)
TIMED = (*OF_SPEED, Word.SAME, Word.NOT_SLOWER)
HEADS = (
    "kernel", "environments", "trials", "what a verdict says", "false alarms of speed", "of outcome", "their ids",
)  # fmt: skip
EMPTY = (
    "No two environments that are stored run the same code. `workbench run --interleave` with two releases that "
    "`benchmarks/same_code.py` finds equal makes a null control."
)
NOTE = (
    "The code is the same where all instructions of the module are, or all files of the copy of triton_kernels, on the "
    "same torch and CUDA. A false alarm of outcome is a fault that one side met and the other did not: where a kernel "
    "reads what is not its own, which side meets it is chance."
)


def nulls(results: Results, same_code: Path | str) -> Shown:
    """A row for each kernel and pair of environments; the caption has their sum."""
    found = [
        (kernel, names, pairs(attempts, *names, DEFAULT))
        for kernel, names, attempts in controls(results, load(same_code))
    ]
    rows = tuple(_row(*each) for each in found if each[2])
    return Shown(_sum([pair for *_, some in found for pair in some]), HEADS, rows, EMPTY, NOTE)


def _sum(every: Sequence[Pair]) -> str:
    known = [pair for pair in every if pair.word != Word.NOT_KNOWN]
    speed = f"{len(_of(every, OF_SPEED))} false alarms of speed in {len(_of(every, TIMED))} that were decided"
    outcome = f"{len(_of(known, OF_OUTCOME))} of outcome in {len(known)}"
    return f"Null controls, {len(every)} comparisons: {speed}, {outcome} of which both sides are known"


def _row(kernel: str, names: tuple[str, str], some: Sequence[Pair]) -> tuple[str, ...]:
    words = Counter(str(pair.word) for pair in some)
    alarms = [_of(some, kind) for kind in (OF_SPEED, OF_OUTCOME)]
    return (
        plain(kernel), " | ".join(map(plain, names)), str(len(some)),
        ", ".join(f"{count} {word}" for word, count in words.most_common()),
        *(str(len(each)) for each in alarms), _ids([*alarms[0], *alarms[1]]),
    )  # fmt: skip


def _of(some: Sequence[Pair], words: Collection[Word]) -> list[Pair]:
    return [pair for pair in some if pair.word in words]


def _ids(some: Sequence[Pair]) -> str:
    more = f" and {len(some) - MOST_IDS} more" if len(some) > MOST_IDS else ""
    return ", ".join(pair.trial.id for pair in some[:MOST_IDS]) + more or "-"
