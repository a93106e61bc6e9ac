"""What an attempt showed, as words by which it is known again. Pure."""

import re
from dataclasses import dataclass

from workbench.results import SANITIZED, Outcome, Result
from workbench.untrusted import steady

MARGIN_S = 10.0  # for a process to start
SLOWER = 3.0  # a stage before the one that hung may take so much longer elsewhere
LONGEST_LIMIT_S = 3600.0
NOTHING_TO_TRY = {
    Outcome.NOT_RUN: "it was not run",
    Outcome.NOT_BUILT: "its environment could not be built",
    Outcome.NOT_EXERCISED: "another kernel ran",
    Outcome.IMPLAUSIBLE: "its answers are right and its time cannot be; a repro file has no stopwatch",
}
DEATH = re.compile(  # as the judge words it, not as a library might
    r"\w+: (?:the process ended with )?(killed by SIG[A-Z0-9]+|killed by signal \d+|exit code \d+)\b"
)
CUDA_ERRORS = {
    "illegal_memory_access": "illegal memory access",
    "misaligned_address": "misaligned address",
    "illegal_instruction": "illegal instruction",
    "launch_failure": "launch failure",
    "no_kernel_image": "no kernel image",
    "oom": "out of memory",
}


@dataclass(frozen=True)
class Symptom:
    """All of `words` stand in what is seen. `ends`: it ends its process, or hangs for `limit_s`."""

    words: tuple[str, ...]
    ends: bool = False
    limit_s: float = LONGEST_LIMIT_S


def of(result: Result) -> Symptom:
    """The symptom to look for. Raises ValueError where the attempt showed none that a file can show."""
    if result.outcome in NOTHING_TO_TRY:
        raise ValueError(f"there is nothing to reproduce: {NOTHING_TO_TRY[result.outcome]}")
    if result.outcome == Outcome.HUNG:
        return Symptom(("not done after",), ends=True, limit_s=_limit_s(result))
    if result.trial.mode in SANITIZED:
        return Symptom(("CUDA error",))  # the tool ends the context after a finding, and counts by itself
    if result.outcome in (Outcome.WRONG, Outcome.OK):
        return Symptom(("wrong:",))
    if death := DEATH.match(result.detail):
        return Symptom((death[1],), ends=True)
    if result.reason in CUDA_ERRORS:
        return Symptom((CUDA_ERRORS[result.reason],))
    return Symptom(_raised(result))


def _limit_s(result: Result) -> float:
    said = re.search(r"not done after (\d{1,6}(?:\.\d{1,3})?) s", result.detail)
    limit_s = float(said[1]) if said else 300.0
    before_s = sum(seconds for stage, seconds in result.stages.items() if stage != result.stage)
    return round(min(limit_s + SLOWER * before_s + MARGIN_S, LONGEST_LIMIT_S), 1)


def _raised(result: Result) -> tuple[str, ...]:
    """Type and beginning of the last exception that stderr shows; raises ValueError where there is none."""
    _, found, last = result.stderr.rpartition("Traceback (most recent call last):\n")
    line = next((line for line in last.splitlines() if line[:1].strip()), "") if found else ""
    name, _, message = line.partition(": ")
    name = name.rpartition(".")[2].strip()
    if not name.isidentifier():
        raise ValueError("there is nothing to look for: the stored attempt does not show what was raised")
    words = steady(message)
    return (name, words) if words else (name,)
