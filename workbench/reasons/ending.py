"""How the process ended: our limit, a signal, an exit code, a result complete before the crash."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import Hit, sign

VICTIMS = (
    sign(
        "hang_timeout",
        "Watchdog caught collective operation timeout",
        "collective operation timed? ?out",
        r"Timeout\(ms\)=\d+\) ran for",
        "TimeoutExpired",
        r"Timeout of \d+ seconds exceeded",
        r"Timeout >\s?\d+(?:\.\d+)?s",
        "CellTimeoutError",
        "rendezvous.{0,40}timeout",
        r"wait timeout after \d+",
        "(?:DistStoreError|Socket).{0,60}timeout",
        r"TimeoutError\b",
        r"\btimed out\b",
        "DUE TO TIME LIMIT",
        r"\b(?:watchdog|error|failed|sync|barrier|dispatch|combine|send|recv|sender|receiver|forwarder)\b.{0,40}\btime-?out\b",
    ),
    sign(
        "not_run",
        "KeyboardInterrupt",
        r"JOB \d+ .{0,40}CANCELLED",
        "CANCELLED AT",
        r"\b(?:sbatch|srun|salloc): error: (?!.{0,60}\btasks? \d)",
        "received SIGTERM",
        r"Terminated\s*$",
        "no tests ran",
        "collected 0 items",
        "no (?:benchmarks?|commit hashes|tests?) (?:selected|found|to run|matched)",
        "nothing to (?:run|measure|benchmark)",
    ),
)
"""What is seen by those who waited, or were told to stop: a cause named anywhere outranks it."""

ABORTS = (
    sign(
        "segfault_abort",
        "Segmentation fault",
        "Fatal Python error",
        "SIGSEGV",
        "SIGABRT",
        "core dumped",
        "terminate called",
        "LLVM ERROR",
        "Assertion `.{0,200}' failed",
        r"Aborted\b",
        "double free",
        "corrupted size",
        r"free\(\): invalid",
        "Bus error",
        r"Illegal instruction \(core",
        "stack smashing",
        "pure virtual method",
    ),
)

_SIGNALS = {4, 6, 7, 8, 11}
_DONE = re.compile(
    r"result\w* (?:was |is )?(?:written|saved|stored)|wrote results?|all[ _]close: ?true", re.IGNORECASE
)


def complete(evidence: Evidence) -> bool:
    """Whether the worker had delivered its result before the end."""
    return (
        evidence.stage == "done"
        or evidence.facts.get("status") == "ok"
        or any(map(_DONE.search, evidence.lines))
    )


def killed(evidence: Evidence) -> Hit | None:
    """A process ended from outside, by its code alone."""
    if evidence.ours or (evidence.code == 124):
        return Hit(
            "hang_timeout", "ended by the time limit", "our own limit" if evidence.ours else "exit code 124"
        )
    if evidence.died_of == 9:
        return Hit(
            "oom_host",
            "killed by signal 9, not by our limit",
            "the kernel's memory killer is the usual sender",
        )
    if evidence.died_of in (1, 2, 15):
        return Hit("not_run", f"ended by signal {evidence.died_of} from outside")
    return None


def crashed(evidence: Evidence) -> Hit | None:
    """A process that ended itself without a word of a cause."""
    if evidence.died_of in _SIGNALS:
        after = "after the result was complete" if complete(evidence) else ""
        return Hit("segfault_abort", f"ended by signal {evidence.died_of}", after)
    if evidence.code in (126, 127):
        return Hit("env_problem", f"exit code {evidence.code}: the command cannot be run")
    return None


def early(evidence: Evidence) -> Hit | None:
    """A worker of ours that was gone before its last stage and said nothing."""
    silent = not evidence.exception and not evidence.lines
    if (
        evidence.stage
        and evidence.stage != "done"
        and (evidence.code == 0 or (silent and evidence.code is not None))
    ):
        return Hit("exited_early", f"exit code {evidence.code} in stage {evidence.stage}")
    return None
