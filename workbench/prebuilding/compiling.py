"""Runs ninja: how far it is, what the compiler's first error was, and no more jobs than the memory holds.

Ninja keeps what is made. Stopped at any moment and started again, only what was in the making is made again.
"""

import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from workbench.environments import BuildError

JOB_MB = 3000  # of one template-heavy source; 2 to 2.5 GB are usual
KEPT_CHARACTERS = 2_000_000
NO_WORD = re.compile(
    r"^(?:ninja: .*|(?:\S*sh: .*)?(?:Killed|Terminated)(?: .*)?)$", re.MULTILINE
)  # but a shell's
Told = Callable[[int, int], None]


class CompileError(Exception):
    """The compiler's first error, in one line; `log` is all that was said, capped."""

    def __init__(self, line: str, log: str):
        super().__init__(line)
        self.log = log


def jobs(asked: int | None) -> int:
    """How many compilers may run at once: what is asked for, else as many as cores and free memory allow."""
    import psutil

    free_mb = psutil.virtual_memory().available // 2**20
    return asked or max(1, min(len(os.sched_getaffinity(0)), free_mb // JOB_MB))


def run(ninja: Path, at_once: int, variables: dict[str, str], told: Told, *held: int) -> None:
    """Makes all that the file names. `told` hears how many steps are done of how many that were left.

    `held` are locks. Compilers outlive whoever kills ninja or us, and still write: they hold them as long.
    Raises CompileError, BuildError where somebody has ended ninja or a compiler, and KeyboardInterrupt when ninja has
    ended, too.
    """
    command = ["ninja", "-C", str(ninja.parent), "-f", ninja.name, "-j", str(at_once)]
    process = subprocess.Popen(
        command, env={**os.environ, **variables, "NINJA_STATUS": "[%f/%t] "}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", pass_fds=held,
    )  # fmt: skip
    try:
        said = _follow(process, told)
        if process.wait() < 0 or "interrupted by user" in said[-200:]:
            raise BuildError("ninja was ended from outside; the same command goes on from there", said)
        if process.returncode and silent(said):
            raise BuildError(
                "a compiler ended without a word, as one does that is killed; start it again", said
            )
        if process.returncode:
            raise CompileError(first_error(said) or f"ninja ended with status {process.returncode}", said)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # it takes away what is half made
            process.wait()


def _follow(process: "subprocess.Popen[str]", told: Told) -> str:
    """What was said, less the commands of steps that went well."""
    said: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        step = re.match(r"\[(\d+)/(\d+)\] ", line)
        if step:
            told(int(step[1]), int(step[2]))
        elif sum(map(len, said[-1000:])) < KEPT_CHARACTERS:
            said.append(line)
    return "".join(said)


def silent(said: str) -> bool:
    """Whether a step failed, and none of those that failed said anything; ninja repeats their commands."""
    _, *failed = re.split(r"^FAILED: .*\n.*\n", said, flags=re.MULTILINE)
    return bool(failed) and not any(NO_WORD.sub("", each).strip() for each in failed)


def first_error(said: str) -> str:
    """The line that says why, without folders: of a compiler, of the linker, or of ninja."""
    for pattern in (
        r"(?i)\b(?:fatal )?error\b[ :]",
        r"undefined reference|cannot find|ptxas fatal",
        r"^ninja: (?!Entering)",
    ):
        for line in said.splitlines():
            if re.search(pattern, line) and not line.startswith("FAILED"):
                return re.sub(r"(?<![\w.])/(?:[^/\s:]+/)+", "", line.strip())[:400]
    return ""
