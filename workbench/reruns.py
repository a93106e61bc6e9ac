"""Which further attempts a crash asks for, and what is different in them. Pure: attempts in, reruns out.

`located`: once, the same trial in a fresh process with launches waited for and a GPU core dump, after a fault on the
GPU that was reported later than it happened. `narrowed`: a trial that crashed with all its tensors fenced, again with
one of them fenced, for each. What a further attempt finds explains the trial and does not count in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.reasons.evidence import gather
from workbench.reasons.faults import FAULTS
from workbench.reasons.signs import first
from workbench.results import SANITIZED, Outcome, Result
from workbench.untrusted import items

FENCED = {"fenced": "end", "fenced_start": "start", "piecewise+fenced": "end"}
MOST_NARROWED = 8


@dataclass(frozen=True)
class Rerun:
    """One further attempt: why, what it adds to the worker's command, and what must be said of it."""

    why: str
    command: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()


def owed(attempts: Sequence[Result], device: str | None) -> list[Rerun]:
    """What is still to be asked about a trial, from all attempts at it in order; nothing where it has not crashed.

    A host's own crash (SIGSEGV) asks for nothing: its Python frames are all there is. Nor does a sanitized one: its
    report has named the kernel.
    """
    places = [place for place, each in enumerate(attempts) if each.attempt > 0 and not each.rerun]
    if device != "cuda" or not places:
        return []
    planned, since = attempts[places[-1]], [each for each in attempts[places[-1] + 1 :] if each.rerun]
    if planned.trial.mode in SANITIZED or not faulted(planned):
        return []
    located = [] if any(each.rerun == "located" for each in since) else [Rerun("located")]
    return [*located, *_narrowed(planned, since)]


def faulted(result: Result) -> bool:
    """Whether it ended in an error of the GPU that is told at some later call, whichever that may be."""
    answered = result.check.get("right") is False
    if result.outcome not in (Outcome.CRASHED, Outcome.WRONG) or answered:
        return False
    return first(FAULTS, gather({"stderr": f"{result.stderr}\n{result.detail}"})) is not None


def _narrowed(planned: Result, since: Sequence[Result]) -> list[Rerun]:
    """The tightest fences first, and of equal ones the largest tensor: there a stray access is met soonest."""
    edge = FENCED.get(planned.trial.mode)
    fence = planned.forensic.get("fence")
    if edge is None or not isinstance(fence, dict):
        return []
    tensors = sorted(
        filter(_is_fenced, items(fence.get("tensors"))), key=lambda each: (each["gap_bytes"], -each["bytes"])
    )
    names = list(dict.fromkeys(each["name"] for each in tensors))
    left = len(names) - MOST_NARROWED
    marks = (f"{left} more tensors were not fenced alone: at most {MOST_NARROWED} are",) if left > 0 else ()
    tried = {name for each in since if each.rerun == "narrowed" for name in only(each)}
    if len(names) < 2:
        return []  # fenced alone already
    return [
        Rerun("narrowed", {"fence": {"edge": edge, "only": [name]}}, marks)
        for name in names[:MOST_NARROWED]
        if name not in tried
    ]


def _is_fenced(tensor: Any) -> bool:
    numbers = ("gap_bytes", "bytes")
    return (
        isinstance(tensor, dict)
        and isinstance(tensor.get("name"), str)
        and all(isinstance(tensor.get(each), int) for each in numbers)
    )


def only(result: Result) -> list[str]:
    """The tensors that alone were fenced in a narrowed attempt."""
    fence = result.forensic.get("fence")
    return [str(name) for name in items(fence.get("only"))] if isinstance(fence, dict) else []


def guilty(attempts: Sequence[Result]) -> list[str]:
    """The tensors that crash the trial when they alone are fenced."""
    crashed = (each for each in attempts if each.rerun == "narrowed" and faulted(each))
    return list(dict.fromkeys(name for each in crashed for name in only(each)))
