"""The plan of a bundle: the options of `workbench run`, with its files where they lie once it is unpacked."""

import shlex
from typing import Any

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
    "plan",
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
