"""Asks an interpreter: runs a script of `worker/` in it, which prints its answer as one JSON line."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .installer import BuildError, redact


def ask(
    python: Path, script: Path, *words: str, limit_s: float, variables: Mapping[str, str] | None = None,
    who: str = "the interpreter",
) -> dict[str, Any]:  # fmt: skip
    """The answer to `words`; `variables` come on top of this process's own. Raises BuildError, which names `who`."""
    try:
        done = subprocess.run(
            [python, "-I", script, *words],
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            cwd="/",
        )
        return dict(json.loads(done.stdout.decode("utf-8", "replace").strip().rpartition("\n")[2]))
    except OSError as error:
        raise BuildError(f"{who} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{who} gave no answer in {limit_s:g} s") from error
    except (ValueError, TypeError):
        log = redact(done.stderr.decode("utf-8", "replace"))
        last = (log.strip().splitlines() or ["it said nothing"])[-1][:400]
        raise BuildError(f"{who} gave no answer: {last}", log) from None
