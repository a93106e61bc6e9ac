"""What a compile-only trial is worth: whether its kernels fit, and whether they do anything. Pure."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.untrusted import objects

EMPTY = "EmptyKernel"  # of CUB: its attributes are asked for, and it is never launched


def judge(made: Mapping[str, Any], launched: bool = False) -> tuple[str, str]:
    """(reason, detail) from `forensic.compiled` or `forensic.launched`, as a worker told it."""
    kernels = objects(made.get("kernels"))
    if not kernels:
        return "not_run", "no kernel was compiled; if all were loaded before, run this mode by itself"
    if idle := does_nothing(kernels):
        many = f"{len(idle)} functions write nothing in any of their instances"
        if len(idle) == 1:
            many = "1 function writes nothing in any of its instances"
        return "does_nothing", f"compiled, not run; {many}: {', '.join(idle)}"
    how = "launched, not checked" if launched else "compiled, not run"
    return "ok", f"{how}: {_size(kernels)}"


def does_nothing(kernels: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of the functions of which no instance writes anything, less the one that is empty on purpose."""
    idle: dict[str, bool] = {}
    for each in kernels:
        name = plain_name(str(each.get("name")))
        idle[name] = idle.get(name, True) and each.get("does_nothing") is True
    return [name for name, nothing in idle.items() if nothing and not name.endswith(EMPTY)]


def plain_name(mangled: str) -> str:
    """A C++ function's name without the arguments of its template; a Triton kernel's name is plain already."""
    rest, parts = mangled.removeprefix("_Z").removeprefix("N"), []
    while mangled.startswith("_Z") and (length := re.match(r"\d+", rest)):
        start = length.end()
        parts.append(rest[start : start + int(length[0])])
        rest = rest[start + int(length[0]) :]
    return "::".join(parts) or mangled


def _size(kernels: list[dict[str, Any]]) -> str:
    most = {
        name: max(_number(each.get(name)) for each in kernels)
        for name in ("shared_bytes", "registers", "spill_bytes")
    }
    said = [f"{most['shared_bytes']} bytes of shared memory"]
    said += (
        [f"{most['registers']} registers"] if most["registers"] else []
    )  # none: the disassembler did not know it
    said += [f"{most['spill_bytes']} bytes spilled"] if most["spill_bytes"] else []
    return f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}; at most {', '.join(said)}"


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
