"""Gets the answers: from the environment itself, and where it cannot import a function, from its source."""

import json
from pathlib import Path
from typing import Any

from workbench.environments import Built
from workbench.environments.asking import ask as ask_interpreter

from .table import ASKED

PROBE = Path(__file__).parents[1] / "worker" / "claims.py"
LIMIT_S = 180


def ask(built: Built, sms: list[int]) -> dict[str, Any]:
    """Function -> what the environment answers."""
    request = {"asked": {name: ways for name, (_, ways) in ASKED.items()}, "sms": sms}
    variables = {**built.variables, "FLASHINFER_NO_DOWNLOAD": "1"}
    return ask_interpreter(
        built.python,
        PROBE,
        json.dumps(request),
        limit_s=LIMIT_S,
        variables=variables,
        who=built.environment.name,
    )


def read(folder: Path, functions: list[str], sms: list[int]) -> dict[str, Any]:
    """What the decorators in the source say of functions that cannot be imported here."""
    from workbench.drift import Library
    from workbench.drift.stated import claims as stated
    from workbench.drift.tree import open_tree

    if not folder.is_dir():
        return {}
    library, answers = Library(open_tree(folder)), {}
    for name in functions:
        found = library.find(name)
        said = stated(library, found[0]) if isinstance(found, tuple) else {}
        numbers = {backend: {str(sm): sm in each for sm in sms} for backend, each in said.items() if each}
        whole = {str(sm): any(by[str(sm)] for by in numbers.values()) for sm in sms} if numbers else {}
        backends = {backend: by for backend, by in numbers.items() if backend != "*"}
        there = (
            "read from the source: it cannot be imported here"
            if isinstance(found, tuple)
            else "this version has no such function"
        )
        answers[name] = {
            "found": bool(numbers),
            "how": "source" if numbers else "",
            "why": there,
            "sm": whole,
            "backends": backends,
        }
    return answers
