"""A plan in a file: the options of `workbench run` as one JSON object, the same for `run`, `bundle` and `submit`."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench import reading
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
        found = read_json(reading.read(file))
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
    if value == default and type(value) is type(default):
        return
    fits = texts if isinstance(default, list) else isinstance(value, bool) == isinstance(default, bool)
    if not fits:
        raise ValueError(
            f"the plan's {name!r} is {str(value)[:80]!r}; `workbench run` has {default!r} by default"
        )
    for each in value if isinstance(default, list) else [value]:
        _check_typed(name, each)


def _check_typed(name: str, value: Any) -> None:
    """Raises ValueError where the command line would not make this value of this text."""
    from workbench.commands.run import parser_of_run

    option = f"--{name.replace('_', '-')}"
    words = [option] if isinstance(value, bool) else [f"{option}={value}"]
    try:
        typed = getattr(parser_of_run().parse_args(words if value is not False else []), name)
    except argparse.ArgumentError as problem:
        raise ValueError(f"the plan's {name!r} is {str(value)[:80]!r}: {problem.message}") from problem
    if (typed[-1] if isinstance(typed, list) else typed) != value:
        raise ValueError(f"the plan's {name!r} is {value!r:.80}; `workbench run` takes it as {typed!r:.80}")


def merged(plan: Mapping[str, Any], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, less what is said otherwise now."""
    now = {name: value for name, value in given.items() if value != defaults.get(name)}
    return {**defaults, **plan, **now}
