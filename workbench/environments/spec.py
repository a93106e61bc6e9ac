"""What a user writes to name an environment, and what it means. No process, no network."""

import shlex
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from .interpreter import find_interpreter, is_interpreter, name_of
from .requirement import bad, is_bare, is_stack, read_word

TORCHES = ("inherit", "isolated")


@dataclass(frozen=True)
class Environment:
    """What is asked for. `python` alone is used as it is; with requirements, they inherit from it.

    A requirement is a pinned PEP 508 one, a wheel's path, or `triton_kernels@sglang-kernel==X`; beside a stack,
    or with `as_of` (a day, 2026-05-14), also one that is not pinned. `torch`: see TORCHES.
    """

    name: str
    requirements: tuple[str, ...] = ()
    python: str | None = None
    as_of: str = ""
    torch: str = "inherit"


def parse(
    spec: str, python: str | None = None, *, as_of: str | None = None, torch: str | None = None
) -> Environment:
    """The environment that `spec` names: requirements apart by blanks (quote a path with some), or `here`.

    Raises ValueError, which says how to write it.
    """
    as_of, torch = _day(as_of), torch or "inherit"
    try:
        words = shlex.split(spec)
    except ValueError as error:
        raise bad(f"{spec!r} has an open quote") from error
    if len(words) == 1 and words[0] != "here" and python is None and is_interpreter(words[0]):
        words, python = [], words[0]
    if python is not None:
        python = _interpreter(python)
    if words in ([], ["here"]):
        return _as_it_is(words, python, as_of, torch)
    stacked = any(is_stack(word) for word in words)  # a bare name beside a stack has the version it pins
    read = [read_word(word, bool(as_of) or (stacked and is_bare(word))) for word in words]
    _check(read, as_of, torch)
    added = [f"as of {as_of}"] * bool(as_of) + ["own torch"] * (torch == "isolated")
    name = " + ".join(shown for _, shown, _ in read) + (f" ({', '.join(added)})" if added else "")
    return Environment(name, tuple(text for _, _, text in read), python, as_of, torch)


def stack_of(requirements: tuple[str, ...]) -> str | None:
    """The requirement among them that is a stack, such as sglang==0.5.12."""
    return next((each for each in requirements if is_stack(each)), None)


def wheel_paths(environment: Environment) -> list[Path]:
    """The wheels that are asked for by their path."""
    return [Path(each) for each in environment.requirements if each.endswith(".whl") and each.startswith("/")]


def _as_it_is(words: list[str], python: str | None, as_of: str, torch: str) -> Environment:
    if not words and python is None:
        raise bad("no environment is named")
    if as_of or torch != "inherit":
        raise bad("an interpreter that exists is used as it is: neither as of a day nor with another torch")
    return Environment(name_of(python) if python else "here", (), python)


def _day(text: str | None) -> str:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        raise ValueError(f"{text!r} is no day; write it like 2026-05-14") from None
    if day and day > datetime.now(UTC).date():
        raise ValueError(f"{text} is yet to come")
    return day.isoformat() if day else ""


def _check(read: list[tuple[str, str, str]], as_of: str, torch: str) -> None:
    names = [key for key, _, _ in read]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise bad(f"{twice[0]} is named twice")
    stacks = [text for _, _, text in read if is_stack(text)]
    if len(stacks) > 1:
        raise bad(f"{' and '.join(stacks)}: one stack an environment")
    if torch not in TORCHES:
        raise ValueError(f"torch is {' or '.join(TORCHES)}, not {torch!r}")
    if torch == "isolated" and not (as_of or stacks or "torch" in names):
        raise bad("which torch? One of its own needs a stack that pins it, or a day")


def _interpreter(python: str) -> str:
    found = find_interpreter(python)
    if found is None:
        raise bad(f"there is no interpreter {python!r}; give its path, such as ../checkout/.venv/bin/python")
    return found
