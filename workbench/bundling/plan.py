"""A plan is the options of `workbench run` as one JSON object, the same that a submitted block has."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.strict_json import read_json

from .checking import BadBundle
from .opening import Bundle

# Of the machine at hand, and not of the plan.
MACHINES = (
    "results",
    "gpu",
    "again",
    "no_wait",
    "dry_run",
    "json",
    "memory_mb",
    "python",
    "wheels",
    "prebuilt",
    "bundle",
)


def read_plan(file: Path, defaults: Mapping[str, Any]) -> dict[str, Any]:
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
    """Raises ValueError where `workbench run` has no such option, or it is of another kind."""
    if name not in defaults:
        raise ValueError(
            f"the plan has {name!r}, which `workbench run` has not; it has {', '.join(defaults)}"
        )
    default = defaults[name]
    texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
    plain = isinstance(value, str | int | float | bool) or value is None
    if not (
        texts if isinstance(default, list) else plain and isinstance(value, bool) == isinstance(default, bool)
    ):
        raise ValueError(
            f"the plan's {name!r} is {str(value)[:80]!r}; `workbench run` has {default!r} by default"
        )


def placed(bundle: Bundle) -> dict[str, Any]:
    """The plan with the bundle's own files, wheels and modules. Raises BadBundle where it names others."""
    plan = {name: value for name, value in bundle.plan.items() if name not in MACHINES}
    for name in ("kernel_file", "cases", "stacks"):
        given = plan.get(name)
        if isinstance(given, list):
            plan[name] = [_inside(bundle, each) for each in given]
        elif given:
            plan[name] = _inside(bundle, given)
    plan["environment"] = [_spec(bundle, each) for each in plan.get("environment", [])]
    folders = {"wheels": str(bundle.root / "wheels"), "prebuilt": str(bundle.root / "prebuilt")}
    plan["no_build"] = True  # nobody waits for a compiler on a GPU node unawares; --build says otherwise
    return plan | {name: folder for name, folder in folders.items() if bundle.has(name)}


def _spec(bundle: Bundle, spec: str) -> str:
    return shlex.join(_inside(bundle, each) if each.endswith(".whl") else each for each in shlex.split(spec))


def _inside(bundle: Bundle, path: str) -> str:
    if path not in bundle.files:
        raise BadBundle(f"the plan of the bundle names {path[:100]!r}, which is not in it")
    return str(bundle.root / path)


def merged(plan: Mapping[str, Any], given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The plan, less what is said otherwise now."""
    now = {name: value for name, value in given.items() if value != defaults.get(name)}
    return {**defaults, **plan, **now}
