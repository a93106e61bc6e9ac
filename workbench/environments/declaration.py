"""What a spec says before anything is built: its lock as far as it is known, and files to carry it with."""

import shutil
from pathlib import Path
from typing import Any

from . import component, index
from .dependencies import in_folder
from .holding import held
from .installer import BuildError
from .pins import Sources, file_name, pins_of, related_lines, write
from .requirement import component_version, distribution_of
from .spec import Environment, stack_of
from .stacks import expand, settled


def declared(environment: Environment, sources: Sources) -> dict[str, Any]:
    """A lock of pins alone, as `Built.provenance` has them. What is named beside a stack replaces its pin.

    As of a day, a pin that allows several versions is the newest that was there. Raises BuildError.
    """
    asked = settled(environment, sources)
    stack = stack_of(asked.requirements)
    pins = pins_of(stack, sources) if stack else {}
    pins |= _named(asked, stack)
    if environment.as_of:
        pins = {name: _on_the_day(name, pinned, environment, sources) for name, pinned in pins.items()}
    if not pins:
        raise BuildError(f"{environment.name} pins nothing; a stored result tells what it has")
    lock: dict[str, Any] = {"name": environment.name, "requirements": list(asked.requirements)}
    return lock | {"pins": held(pins, {}, {})}


def save(environment: Environment, sources: Sources, folder: Path) -> list[Path]:
    """Puts what the environment needs without a network into `folder`; the files. Raises BuildError.

    The small packages that FlashInfer takes from the inherited interpreter (numpy, tqdm) are not among them.
    """
    if environment.torch == "isolated":
        raise BuildError("a torch of its own is gigabytes and is not carried; inherit it")
    folder.mkdir(parents=True, exist_ok=True)
    before = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    expanded = expand(environment, sources)
    if expanded.stack:
        _save_pins(expanded.stack, folder, sources)
    for requirement in expanded.environment.requirements:
        _save_wheel(requirement, folder, sources)
    return [file for file in sorted(folder.iterdir()) if file.stat().st_mtime_ns != before.get(file.name)]


def _named(asked: Environment, stack: str | None) -> dict[str, str]:
    from packaging.requirements import Requirement

    words = [each for each in asked.requirements if each != stack and not each.startswith("/")]
    found = {}
    for word in words:
        donated = component_version(word)
        specifier = f"=={donated}" if donated else str(Requirement(word).specifier)
        if specifier:
            found[distribution_of(word)] = specifier
    return found


def _on_the_day(name: str, pinned: str, environment: Environment, sources: Sources) -> str:
    if pinned.startswith("==") and "," not in pinned:
        return pinned
    return "==" + index.newest(f"{name}{pinned}", environment.as_of, sources.python).partition("==")[2]


def _save_pins(stack: str, folder: Path, sources: Sources) -> None:
    from packaging.requirements import Requirement

    requirement = Requirement(stack)
    write(folder / file_name(requirement), requirement, related_lines(requirement, sources))


def _save_wheel(requirement: str, folder: Path, sources: Sources) -> None:
    from packaging.requirements import Requirement

    if version := component_version(requirement):
        if not any(folder.glob(f"{component.STEM}-{version}-*.whl")):
            kept = component.find(version, sources.folder / "wheels", None, sources.python, sources.say)
            shutil.copyfile(kept, folder / kept.name)
    elif requirement.startswith("/"):
        shutil.copyfile(requirement, folder / Path(requirement).name)
    elif not in_folder(folder, Requirement(requirement), sources.release):
        sources.say(f"fetching {requirement}")
        index.fetch([requirement], folder, sources.release)
