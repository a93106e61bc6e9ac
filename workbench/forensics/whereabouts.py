"""Asks an environment which of its packages ships a kernel's source."""

import json
import subprocess
from pathlib import Path
from typing import Any

from workbench.strict_json import read_json
from workbench.untrusted import NAME, plain

FILE = Path(__file__).parent.parent / "worker" / "whereabouts.py"
LIMIT_S = 60


def of_kernel(python: Path, kernel: str) -> dict[str, Any]:
    """`{file, package, version}` of a Triton kernel where exactly one place has it; else what there is, or nothing.

    A C++ name is not looked for: its namespace is all that an environment without its sources can tell.
    """
    if not kernel.isidentifier():
        return {}
    try:
        done = subprocess.run(
            [python, "-I", FILE, kernel],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
            cwd="/",
        )
        found = read_json(done.stdout.strip())
        places = [
            {name: plain(value, NAME) for name, value in place.items()} for place in found.get("places", [])
        ]
    except (OSError, ValueError, AttributeError, subprocess.TimeoutExpired, json.JSONDecodeError):
        return {}
    if len(places) == 1:
        return places[0]
    return {"files": [place.get("file", "") for place in places]} if places else {}
