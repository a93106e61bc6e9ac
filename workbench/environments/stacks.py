"""Stacks: a release of a serving project, written out as what is installed for it.

Installed are FlashInfer, the triton_kernels that it is served with, and what FlashInfer is bound to. All else that
is pinned (cubins, cutlass-dsl, quack) is gigabytes that no kernel here needs: name it beside the stack to have it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from . import index
from .dependencies import in_folder
from .installer import BuildError
from .pins import Sources, pins_of
from .requirement import CARRIED, COMPONENT, DONOR, component_version, distribution_of, exact, is_bare
from .spec import Environment, stack_of

FLASHINFER = "flashinfer-python"
BOUND = "apache-tvm-ffi"  # FlashInfer's compiled code depends on its exact layout


@dataclass(frozen=True)
class Expanded:
    """What is asked of the installer, and for which release: "" and no pins where no stack was named."""

    environment: Environment
    stack: str
    pins: dict[str, str]


def settled(environment: Environment, sources: Sources) -> Environment:
    """With a day, each requirement that may be several versions as the newest of that day.

    Bare names beside a stack are left, for the stack may pin them. Raises BuildError.
    """
    if environment.as_of and sources.wheels:
        raise BuildError("as of a day needs the package index; a folder of wheels needs exact versions")
    stacked = stack_of(environment.requirements)
    words = (
        each if stacked and is_bare(each) else _exact(each, environment, sources)
        for each in environment.requirements
    )
    return replace(environment, requirements=tuple(words))


def expand(environment: Environment, sources: Sources) -> Expanded:
    """The environment in requirements that an installer understands. Raises BuildError."""
    words = settled(environment, sources).requirements
    stack = stack_of(words)
    pins = pins_of(stack, sources) if stack else {}
    beside = [_pinned(each, pins, stack) for each in words if each != stack]
    named = {distribution_of(each) for each in beside}
    chosen = _chosen(stack, pins, named, environment, sources) if stack else []
    if environment.torch == "isolated" and "torch" not in named:
        chosen.append(_torch(stack, pins.get("torch", ""), environment, sources))
    written = tuple(_exact(each, environment, sources) for each in chosen + beside)
    return Expanded(replace(environment, requirements=written), stack or "", pins)


def _exact(requirement: str, environment: Environment, sources: Sources) -> str:
    """With a day, whatever may be several versions becomes the newest of that day."""
    from packaging.requirements import Requirement

    if not environment.as_of or component_version(requirement) or requirement.startswith("/"):
        return requirement
    read = Requirement(requirement)
    if read.url or exact(read):
        return requirement
    return index.newest(requirement, environment.as_of, sources.python)


def _pinned(requirement: str, pins: Mapping[str, str], stack: str | None) -> str:
    """What is named beside a stack without a version has the one that the stack pins."""
    if stack is None or not is_bare(requirement):
        return requirement
    name = distribution_of(requirement)
    if name not in pins:
        raise BuildError(f"{stack} does not pin {name}: write {name}==X")
    return f"{requirement}{pins[name]}"


def _chosen(
    stack: str, pins: Mapping[str, str], named: set[str], environment: Environment, sources: Sources
) -> list[str]:
    """What is installed of a stack without being asked for; what is `named` beside it replaces it."""
    found = []
    if FLASHINFER not in named:
        found.append(_flashinfer(stack, pins.get(FLASHINFER), environment))
    if CARRIED not in named and pins.get(DONOR, "").startswith("=="):
        found.append(f"{COMPONENT}@{DONOR}{pins[DONOR]}")
    if BOUND not in named and BOUND in pins and not _inherits(f"{BOUND}{pins[BOUND]}", sources):
        found.append(f"{BOUND}{pins[BOUND]}")
    return found


def _flashinfer(stack: str, pinned: str | None, environment: Environment) -> str:
    if pinned is None:
        raise BuildError(f"{stack} does not pin {FLASHINFER}; name one beside it: '{stack} flashinfer==X'")
    if not (pinned.startswith("==") or environment.as_of):
        raise BuildError(
            f"{stack} takes any {FLASHINFER}{pinned}; say as of which day, or name one beside it"
        )
    return f"{FLASHINFER}{pinned}"


def _torch(stack: str | None, pinned: str, environment: Environment, sources: Sources) -> str:
    if not (pinned.startswith("==") or environment.as_of):
        raise BuildError(f"{stack} does not pin one torch; say as of which day, or inherit it")
    sources.say("a torch of its own with all that it requires: gigabytes, the first time")
    return f"torch{pinned}"


def _inherits(requirement: str, sources: Sources) -> bool:
    """Offline, what the folder lacks may be there already."""
    from packaging.requirements import Requirement

    read = Requirement(requirement)
    there = sources.inherited.get(read.name)
    if sources.wheels is None or there is None or in_folder(sources.wheels, read, sources.release):
        return False
    return read.specifier.contains(there, prereleases=True)
