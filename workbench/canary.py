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
        done = subprocess.run(
            command, env=dict(variables), capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the canary hung for {LIMIT_S} s"
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"the canary died with exit code {done.returncode}"])[-1]
