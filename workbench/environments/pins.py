"""What a release of a serving project pins of the packages that kernels depend on, kept in small JSON files."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.reading import read

from . import index
from .installer import BuildError
from .metadata import requires

if TYPE_CHECKING:
    from packaging.requirements import Requirement

RELATED = (
    "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "sglang-kernel", "sgl-kernel", "torch",
    "triton", "pytorch-triton", "triton-kernels", "nvidia-cutlass-dsl", "quack-kernels", "apache-tvm-ffi",
    "nvidia-cudnn-frontend",
)  # fmt: skip
Say = Callable[[str], None]


@dataclass(frozen=True)
class Sources:
    """Where answers come from: `wheels` alone if given, else what is kept under `folder`, else the index.

    `release` is the Python version that is asked for; `inherited` what that Python has already.
    """

    folder: Path
    wheels: Path | None
    python: Path
    release: str
    inherited: dict[str, str] = field(default_factory=dict)
    say: Say = print


def pins_of(stack: str, sources: Sources) -> dict[str, str]:
    """Package -> specifier ("==0.6.11.post1", ">=0.4.1", "") of an exact `stack`. Raises BuildError."""
    from packaging.requirements import Requirement

    requirement = Requirement(stack)
    lines = related_lines(requirement, sources)
    return related(lines, sources.release, requirement.extras)


def related_lines(stack: "Requirement", sources: Sources) -> list[str]:
    """The requirements that it declares of RELATED packages, as written."""
    kept = sources.folder / "pins" / file_name(stack)
    for place in filter(None, (sources.wheels and sources.wheels / kept.name, kept)):
        if (lines := _read(place)) is not None:
            return lines
    if sources.wheels:
        return _only_related(_from_wheel(stack, sources.wheels))
    sources.say(f"asking the index what {stack.name} {_version(stack)} pins")
    lines = _only_related(index.declared(f"{stack.name}{stack.specifier}", sources.release))
    write(kept, stack, lines)
    return lines


def file_name(stack: "Requirement") -> str:
    """Of the file that holds the pins of an exact release."""
    return f"{stack.name}-{_version(stack)}.pins.json"


def write(file: Path, stack: "Requirement", lines: list[str]) -> None:
    """Whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"release": f"{stack.name}=={_version(stack)}", "requires": lines}, indent=1) + "\n"
    handle, half = tempfile.mkstemp(dir=file.parent, prefix=".pins-")
    with os.fdopen(handle, "w", encoding="utf-8") as target:
        target.write(text)
    Path(half).chmod(0o644)
    Path(half).replace(file)


def related(lines: list[str], python: str, extras: set[str]) -> dict[str, str]:
    """Package -> specifier, of those lines that hold on Linux with Python `python` (3.12.3)."""
    found: dict[str, str] = {}
    for each in _requirements(lines):
        if each.marker is None or any(
            each.marker.evaluate(_target(python, extra)) for extra in ("", *extras)
        ):
            found[each.name] = ",".join(filter(None, (found.get(each.name), str(each.specifier))))
    return {name: found[name] for name in RELATED if name in found}


def _requirements(lines: list[str]) -> "list[Requirement]":
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    read = []
    for line in lines:
        try:
            read.append(Requirement(line))
        except InvalidRequirement as error:
            raise BuildError(f"a pin that cannot be read: {line[:80]!r}") from error
        read[-1].name = canonicalize_name(read[-1].name)
    return read


def _target(python: str, extra: str) -> dict[str, str]:
    machine = "x86_64"  # what GPUs are in, whatever this runs on
    return {
        "python_version": ".".join(python.split(".")[:2]), "python_full_version": python, "extra": extra,
        "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", "platform_machine": machine,
    }  # fmt: skip


def _only_related(lines: list[str]) -> list[str]:
    return [line for line in lines if _requirements([line])[0].name in RELATED]


def _version(stack: "Requirement") -> str:
    return next(iter(stack.specifier)).version


def _read(file: Path) -> list[str] | None:
    """None if there is no such file, or a torn one."""
    try:
        lines = json.loads(read(file, wait_s=0))["requires"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return lines if isinstance(lines, list) and all(isinstance(each, str) for each in lines) else None


def _from_wheel(stack: "Requirement", wheels: Path) -> list[str]:
    found = sorted(wheels.glob(f"{stack.name.replace('-', '_')}-{_version(stack)}-*.whl"))
    if not found:
        raise BuildError(
            f"the folder of wheels has neither {file_name(stack)} nor a wheel of {stack.name} {_version(stack)}; "
            f"where there is a network, `workbench stack {stack.name}=={_version(stack)} --save DIR` makes the first"
        )
    return requires(found[0])
