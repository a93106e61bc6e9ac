"""Stacks with names of their own, in a TOML file that a team shares.

[stack.candidate]
requirements = ["sglang==0.5.12"]
torch = "inherit"                   # or "isolated"; may be left out
as_of = "2026-05-14"                # may be left out
"""

import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench import reading

from .spec import Environment, parse

KEYS = {"requirements", "torch", "as_of"}


def load_stacks(file: str | Path) -> dict[str, dict[str, Any]]:
    """Name -> what the file says of it, checked for form. Raises ValueError, OSError."""
    try:
        read = tomllib.loads(reading.read(file).decode("utf-8"))
    except ValueError as error:  # also bytes that are no UTF-8
        raise ValueError(f"{Path(file).name} is not TOML: {error}") from error
    found = read.get("stack")
    if not isinstance(found, dict) or not found or set(read) != {"stack"}:
        raise ValueError(f"{Path(file).name} holds tables [stack.NAME] and nothing else")
    for name, entry in found.items():
        _check(name, entry)
    return found


def choose(
    text: str,
    stacks: Mapping[str, dict[str, Any]],
    python: str | None = None,
    *,
    as_of: str | None = None,
    torch: str | None = None,
) -> Environment:
    """The environment that `text` names, in `stacks` or as a spec; `as_of` and `torch` go before the file's.

    Raises ValueError; where the text is neither, it lists the names.
    """
    if text not in stacks:
        try:
            return parse(text, python, as_of=as_of, torch=torch)
        except ValueError as error:
            if not (stacks and re.fullmatch(r"[\w.-]+", text)):
                raise
            raise ValueError(f"no stack {text!r}; there are {', '.join(sorted(stacks))}") from error
    entry = stacks[text]
    day = str(entry.get("as_of", "")) or None  # TOML has days of its own
    spec = shlex.join(entry["requirements"])
    try:
        found = parse(spec, python, as_of=as_of or day, torch=torch or entry.get("torch"))
    except ValueError as error:
        raise ValueError(f"stack {text}: {error}") from error
    return replace(found, name=f"{text}: {found.name}")


def _check(name: str, entry: Any) -> None:
    if not re.fullmatch(r"[\w.-]+", name) or name == "here":
        raise ValueError(f"{name!r} is no name for a stack: letters, digits, dots and dashes, and not 'here'")
    if not isinstance(entry, dict) or not set(entry) <= KEYS:
        unknown = ", ".join(sorted(set(entry) - KEYS)) if isinstance(entry, dict) else repr(entry)
        raise ValueError(f"stack {name}: {unknown} is not known; there are {', '.join(sorted(KEYS))}")
    words = entry.get("requirements")
    if not isinstance(words, list) or not words or not all(isinstance(each, str) for each in words):
        raise ValueError(f'stack {name}: requirements is a list, such as ["sglang==0.5.12"]')
