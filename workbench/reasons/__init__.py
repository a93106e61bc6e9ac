"""From the facts of one attempt to its reason: the order in which the questions are asked.

Pure: no process, no GPU, the standard library only. Reads what an attempt produced and nothing else.
A text that fits no rule is "unknown".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .answers import grew, impossible, wrong
from .checks import ARGUMENTS, NUMBERS
from .codes import NUMBERED
from .compilers import BUILD_ENDED, COMPILERS
from .ending import ABORTS, VICTIMS, crashed, early, killed
from .environment import PACKAGES, mixed, unready
from .evidence import Evidence, gather
from .fallback import ELSEWHERE, UNTUNED
from .faults import DRIVER_NOTES, FAULTS
from .machine import MACHINE
from .memory import MEMORY
from .notebook import notebook
from .python_errors import PYTHON
from .refusals import REFUSALS
from .signs import Hit, Sign, first
from .stages import by_stage
from .stopwatch import TIMER
from .support import SUPPORT
from .text import one_line
from .timing import timing

Question = Callable[[Evidence], Hit | None]

CAUSES = (
    *PACKAGES,
    *MACHINE,
    *MEMORY,
    *FAULTS,
    *REFUSALS,
    *COMPILERS,
    *SUPPORT,
    *PYTHON,
    *NUMBERS,
    *TIMER,
    *NUMBERED,
)
"""Signs of a cause. Between lines the first in time counts; within one line the order here."""

NOTED = tuple(each for each in CAUSES if each not in PYTHON)
"""Of a mere note: a name that a library only notes as missing is one it can do without."""

ELSEWHERE_CAUSED = {"oom", "oom_host", "missing_cubin", "driver_mismatch", "env_problem"}


def classify(record: Mapping[str, Any]) -> tuple[str, str]:
    """(reason class, one line of detail) for one attempt. Never raises; "unknown" where no rule fits."""
    evidence = gather(record if isinstance(record, Mapping) else {})
    hit = _answer(FINISHED if evidence.finished else FAILED, evidence) or _unknown(evidence)
    return hit.reason, one_line(f"{hit.line} ({hit.note})" if hit.note else hit.line)


def _answer(questions: Iterable[Question], evidence: Evidence) -> Hit | None:
    return next(filter(None, (ask(evidence) for ask in questions)), None)


def _ours(evidence: Evidence) -> Hit | None:
    """Ended by our limit; a device fault before it is why the rest hung."""
    return (first(FAULTS, evidence) or killed(evidence)) if evidence.ours else None


def _cause(evidence: Evidence) -> Hit | None:
    """The first error in time. Mere notes come second, save a device fault: with it the context is lost.

    A kernel that waits in vain traps: a launch failure after its word of a timeout is no other fault.
    """
    said, noted = first(CAUSES, evidence, quiet=False), first(FAULTS, evidence, quiet=True)
    waited = first(VICTIMS, evidence) if said and said.reason == "launch_failure" else None
    if said and waited and waited.where < said.where and waited.reason == "hang_timeout":
        return waited
    if noted and (not said or noted.where < said.where):
        return noted
    return said or first(NOTED, evidence, quiet=True)


def _growing(evidence: Evidence) -> Hit | None:
    """A wrong answer printed before the first error."""
    found = grew(evidence)
    cause = _cause(evidence) if found else None
    return found if found and (not cause or found.where < cause.where) else None


def _mixed(evidence: Evidence) -> Hit | None:
    """Releases that do not fit explain any fault among them, but no lack of memory, network or driver."""
    found = mixed(evidence)
    cause = _cause(evidence) if found else None
    return None if cause and cause.reason in ELSEWHERE_CAUSED else found


def _environment(evidence: Evidence) -> Hit | None:
    """A check of an environment may end well and still report what is wrong with it."""
    return (mixed(evidence) or first((*PACKAGES, *MACHINE), evidence)) if evidence.kind == "env" else None


def _measured(evidence: Evidence) -> Hit | None:
    """Tools that compare times end with 1 where they found something."""
    return timing(evidence) if evidence.measurements else None


def _any_of(signs: tuple[Sign, ...]) -> Question:
    return lambda evidence: first(signs, evidence)


def _fine(evidence: Evidence) -> Hit:
    return Hit("ok", "finished, and nothing speaks against it")


def _unknown(evidence: Evidence) -> Hit:
    last = evidence.lines[-1] if evidence.lines else "nothing was printed"
    return Hit("unknown", f"exit code {evidence.code}: {last}")


FAILED: tuple[Question, ...] = (
    _ours, unready, _mixed, notebook, _growing, _cause,
    _any_of(DRIVER_NOTES), _any_of(VICTIMS), _any_of(BUILD_ENDED), _any_of(ARGUMENTS), killed, crashed,
    _any_of(ABORTS), wrong, _measured, early, by_stage,
)  # fmt: skip
"""Our own kill, the environment, the first error, who only waited, the exit code; last the weakest signs."""

FINISHED: tuple[Question, ...] = (
    notebook, timing, _environment, _any_of(FAULTS), wrong, _growing, _any_of(NUMBERS), impossible,
    _any_of(UNTUNED), _any_of(ELSEWHERE), early, _fine,
)  # fmt: skip
"""An exit code of 0 is believed last."""
