"""How each outcome looks: one letter, one colour, one line of meaning; and each reason class: a second letter.

The rule: colour never stands alone, and stays apart for eyes that see red and green alike.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.reasons.meanings import MEANINGS
from workbench.results import OUTCOME_OF_REASON, Outcome, Standing, told_as
from workbench.showing.cells import cut_names
from workbench.untrusted import plain

MARK = "†"  # something must be said of it, such as that a trimmed module was used
FLAKY = "~"  # put behind the letter where attempts at one trial ended differently


@dataclass(frozen=True)
class Look:
    """A letter for the terminal, a word for the page; `ink` is the text colour to be read on `colour`."""

    letter: str
    word: str
    meaning: str
    colour: str
    ink: str


UNPLANNED = Look("·", "not planned", "no run had this trial in its plan", "#ffffff", "#767676")
"""An empty square, which is no trial at all: not to be taken for one that was not run."""
NO_GPU = "no GPU"

LEGEND: dict[Outcome, Look] = {
    Outcome.OK: Look("O", "ok", "ran, and the answer agrees with the reference", "#90c9b4", "#111111"),
    Outcome.WRONG: Look(
        "W", "wrong", "ran, and the answer is off, or was never written", "#d43166", "#ffffff"
    ),
    Outcome.IMPLAUSIBLE: Look("I", "implausible", "faster than the hardware can be", "#fb80e0", "#111111"),
    Outcome.UNSUPPORTED: Look(
        "U",
        "unsupported",
        "the library, or the kernel's file for it, says no",
        "#f3bd98",
        "#111111",
    ),
    Outcome.MISSING: Look("M", "missing", "no such function there, or not as called", "#55568f", "#ffffff"),
    Outcome.FAILED: Look("F", "failed", "an exception", "#cc6b10", "#111111"),
    Outcome.CRASHED: Look("C", "crashed", "a GPU fault, a signal or an abort", "#7f1d15", "#ffffff"),
    Outcome.HUNG: Look("H", "hung", "ended by the time limit", "#630e94", "#ffffff"),
    Outcome.OUT_OF_MEMORY: Look("R", "out of memory", "asked for more than there is", "#ddd948", "#111111"),
    Outcome.NOT_BUILT: Look("B", "not built", "its environment could not be made", "#1e2524", "#ffffff"),
    Outcome.NOT_EXERCISED: Look("X", "not exercised", "another kernel ran instead", "#4182f7", "#111111"),
    Outcome.NOT_RUN: Look(
        "-", "not run", "planned, and nothing is known of it; its reason says why", "#ffffff", "#555555"
    ),
}

COMPILED = Look(
    "L",
    "compiled",
    "compiled for this family and not run: nothing is known of its answers",
    "#c3d3e8",
    "#111111",
)
"""In the place of `ok` where nothing was called, so that nobody takes it for a pass."""
LOOKS: dict[str, Look] = {**{outcome.value: look for outcome, look in LEGEND.items()}, "compiled": COMPILED}
"""By the name that a style sheet has for it."""

SECOND_LETTERS: Mapping[str, str] = {
    "slower": "s", "inconclusive": "i", "undefined_value": "u", "does_nothing": "n",
    "unsupported_arch": "a", "no_kernel_for_config": "c",
    "api_changed": "a", "component_missing": "c",
    "import_error": "i", "jit_compile_failure": "j", "version_skew": "v", "graph_capture_failure": "g",
    "no_kernel_image": "k", "resource_exhausted": "r", "bad_argument": "a", "channel_corrupted": "c",
    "unknown": "u",
    "illegal_memory_access": "m", "misaligned_address": "a", "illegal_instruction": "i",
    "launch_failure": "f", "segfault_abort": "s", "exited_early": "e",
    "oom": "g", "oom_host": "h",
    "not_run": "n", "node_lost": "l", "cancelled": "x", "time_limit": "t", "refused": "r",
    "missing_cubin": "c", "driver_mismatch": "d", "env_problem": "e", "notebook_kernel_missing": "a",
    "notebook_kernel_died": "k", "notebook_output_lost": "o", "notebook_error_swallowed": "s",
    "notebook_bad_param": "p", "notebook_nondeterministic": "v",
}  # fmt: skip
"""Reason class -> what stands behind its outcome's letter; a class that is alone in its outcome needs none."""


def kind(standing: Standing) -> str:
    """How it is shown: its outcome, or `compiled`; a key of LOOKS."""
    return told_as(standing.result.trial, standing.outcome)


def sign(outcome: str, reason: str) -> str:
    """`Cm` is crashed by illegal_memory_access, `W` wrong; a reason that is not known has its outcome's letter."""
    known = OUTCOME_OF_REASON.get(reason) == outcome
    return LOOKS[outcome].letter + (SECOND_LETTERS.get(reason, "") if known else "")


def letters(standing: Standing | None) -> str:
    """Its sign, with the mark of flakiness where it belongs; None is a trial nobody planned."""
    if standing is None:
        return UNPLANNED.letter
    return sign(kind(standing), standing.result.reason) + (FLAKY if standing.flaky else "")


def classes(standings: Iterable[Standing]) -> dict[str, dict[str, int]]:
    """Kind -> reason class -> how many trials, for those that occur, in the order of the legend."""
    counts = Counter((kind(standing), standing.result.reason) for standing in standings)
    found: dict[str, dict[str, int]] = {}
    for shown in LOOKS:
        of_it = {reason: count for (ended, reason), count in counts.most_common() if ended == shown}
        if of_it:
            found[shown] = of_it
    return found


def advice(reason: str) -> tuple[str, str]:
    """What a reason class means and what to do about it; two empty texts for one that is not known."""
    return MEANINGS.get(reason, ("", ""))


def word(standing: Standing | None) -> str:
    """What stands in a square: `crashed`, or `crashed, flaky 2/5` where 2 of 5 attempts did."""
    if standing is None:
        return UNPLANNED.word
    shown = LOOKS[kind(standing)].word
    return f"{shown}, flaky {standing.agree}/{standing.tried}" if standing.flaky else shown


def other(standing: Standing) -> Outcome:
    """The outcome a flaky trial also had: the second half of its split square."""
    return next((each for each in standing.outcomes if each != standing.outcome), standing.outcome)


def counted(standings: Iterable[Standing | None]) -> dict[str, int]:
    """How often each word of the legend occurs, in its order; `flaky` last, counted beside, not instead."""
    stored = [each for each in standings if each is not None]
    ended = [kind(each) for each in stored]
    counts = {look.word: ended.count(name) for name, look in LOOKS.items()}
    counts["flaky"] = sum(each.flaky for each in stored)
    return {name: count for name, count in counts.items() if count}


def gpu(name: str) -> str:
    """A GPU's name as it is shown; results of a machine without one have none."""
    return NO_GPU if name == "none" else name


def tally(standings: Iterable[Standing | None]) -> str:
    """`12 ok, 1 crashed, 1 flaky`."""
    return ", ".join(f"{count} {name}" for name, count in counted(standings).items()) or "nothing"


def mark(square: Standing | None) -> str:
    """A dagger where something must be said of a trial, such as that a trimmed module was used."""
    return MARK if square and square.result.marks else ""


def marks(squares: Iterable[Standing | None]) -> list[str]:
    """What the daggers stand for, each once."""
    found = (cut_names(plain(text, 300)) for square in squares if square for text in square.result.marks)
    return list(dict.fromkeys(found))
