"""Null controls: comparisons of environments that run the same code; any verdict there is a false alarm, and counts."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from workbench.campaign.same_code import controls, load
from workbench.evidence.facts import few
from workbench.results import Results
from workbench.showing.shown import Shown, Tables
from workbench.untrusted import plain
from workbench.verdict.pair import Pair
from workbench.verdict.pairs import pairs
from workbench.verdict.policy import DEFAULT
from workbench.verdict.word import Word

OF_SPEED = (Word.SLOWER, Word.FASTER)
OF_OUTCOME = (Word.BROKEN, Word.MENDED, Word.CHANGED)
ALARMS = (*OF_SPEED, *OF_OUTCOME)
TIMED = (*OF_SPEED, Word.SAME, Word.NOT_SLOWER)
KNOWN = tuple(word for word in Word if word != Word.NOT_KNOWN)
HEADS = (
    "kernel", "pairs of environments", "comparisons", "speed decided", "false alarms of speed", "outcomes known",
    "false alarms of outcome",
)  # fmt: skip
ALARM_HEADS = ("kernel", "environments", "comparisons", "what a verdict says", "false alarms", "their ids")
EMPTY = (
    "No two environments that are stored run the same code. `workbench run --interleave` with two releases that "
    "`benchmarks/same_code.py` finds equal makes a null control."
)
NOTE = (
    "The code is the same where all instructions of the module are, or all files of the copy of triton_kernels, on the "
    "same torch and CUDA. A false alarm of outcome is a fault that one side met and the other did not: where a kernel "
    "reads what is not its own, which side meets it is chance."
)


def nulls(results: Results, same_code: Path | str) -> Tables:
    """How many by kernel, and the pairs of environments that had some."""
    found = [
        Control(kernel, names, tuple(pairs(attempts, *names, DEFAULT)))
        for kernel, names, attempts in controls(results, load(same_code))
    ]
    kernels = [
        _sum(kernel, [*some]) for kernel, some in groupby(filter(_any, found), lambda each: each.kernel)
    ]
    alarmed = tuple(_alarms(each) for each in found if each.of(ALARMS))
    counted = Shown("Null controls", HEADS, tuple(kernels), EMPTY, NOTE)
    named = Shown(
        "Null controls with false alarms", ALARM_HEADS, alarmed, "No null control had a false alarm."
    )
    return Tables([counted, named] if kernels else [counted])


@dataclass(frozen=True)
class Control:
    """What a verdict says of two environments that run the same code for a kernel."""

    kernel: str
    names: tuple[str, str]
    pairs: tuple[Pair, ...]

    def of(self, words: Collection[Word]) -> list[Pair]:
        return [pair for pair in self.pairs if pair.word in words]


def _any(control: Control) -> bool:
    return bool(control.pairs)


def _sum(kernel: str, some: Sequence[Control]) -> tuple[str, ...]:
    kinds = (TIMED, OF_SPEED, KNOWN, OF_OUTCOME)
    counts = [sum(len(each.of(words)) for each in some) for words in (tuple(Word), *kinds)]
    return plain(kernel), str(len(some)), *map(str, counts)


def _alarms(control: Control) -> tuple[str, ...]:
    words = Counter(str(pair.word) for pair in control.pairs)
    said = ", ".join(f"{count} {word}" for word, count in words.most_common())
    alarms = [pair.trial.id for pair in control.of(ALARMS)]
    named = plain(control.kernel), " | ".join(map(plain, control.names)), str(len(control.pairs))
    return *named, said, str(len(alarms)), few(alarms)
