"""After a crash the GPU must prove itself in a fresh process before anything else is run on it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).parent / "worker" / "canary.py"
LIMIT_S = 120


def sing(python: Path, variables: Mapping[str, str]) -> str:
    """What is wrong with the GPU, in one line; empty where it is sound."""
    command = [str(python), "-I", str(FILE)]
    try:
        bird = subprocess.Popen(
            command, env=dict(variables), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as problem:
        return f"the canary cannot be started: {problem.strerror}"
    try:
        _, heard = bird.communicate(timeout=LIMIT_S)
    except BaseException as problem:
        bird.kill()  # and no wait: on a broken card it may never end
        if isinstance(problem, subprocess.TimeoutExpired):
            return f"the canary hung for {LIMIT_S} s"
        raise
    if bird.returncode == 0:
        return ""
    last = heard.decode("utf-8", "replace").strip().splitlines()
    return (last or [f"the canary died with exit code {bird.returncode}"])[-1]
