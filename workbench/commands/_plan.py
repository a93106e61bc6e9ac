"""A plan in a file: the options of `workbench run` as one JSON object, the same for `run`, `bundle` and `submit`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.strict_json import read_json


def planned(options: argparse.Namespace, defaults: Mapping[str, Any]) -> argparse.Namespace:
    """The options with those of their plan file, where they name one; what is said now goes before the plan.

    `defaults` are those of `workbench run`. Raises ValueError, OSError.
    """
    plan = read(Path(options.plan), defaults) if options.plan else {}
    given = {name: value for name, value in vars(options).items() if name in defaults}
    return argparse.Namespace(**{**vars(options), **merged(plan, given, defaults), "plan": None})


def read(file: Path, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The options in the file. Raises ValueError for one that `defaults` has not, or of another kind; OSError."""
    try:
        found = read_json(file.read_bytes())
    except ValueError as problem:
        raise ValueError(f"{file.name} is not JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise ValueError(
            f'{file.name} holds one object, such as {{"environment": ["flashinfer==0.6.11.post1"]}}'
        )
    for name, value in found.items():
        check(name, value, defaults)
    return found


def check(name: str, value: Any, defaults: Mapping[str, Any]) -> None:
    """Raises ValueError where a plan may have no such option, or it is of another kind."""
    allowed = {each: default for each, default in defaults.items() if each != "plan"}
    if name not in allowed:
        raise ValueError(f"the plan has {name!r}, which `workbench run` has not; it has {', '.join(allowed)}")
    default = allowed[name]
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    plain = isinstance(value, str | int | float | bool) or value is None
    if not (
        texts if isinstance(default, list) else plain and isinstance(value, bool) == isinstance(default, bool)
    ):
        raise ValueError(
            f"the plan's {name!r} is {str(value)[:80]!r}; `workbench run` has {default!r} by default"
        )


def merged(plan: Mapping[str, Any], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, less what is said otherwise now."""
    now = {name: value for name, value in given.items() if value != defaults.get(name)}
    return {**defaults, **plan, **now}
