"""Whether an environment meets the pins of a file: the check that serving projects write by hand at start-up."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.reading import read

from .fingerprint import Fingerprint
from .skew import NOTE, Skew
from .versions import WHY, allows

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def read_expected(file: Path) -> "list[Requirement]":
    """Requirement lines, as in requirements.txt; comments and options of pip are passed over. Raises ValueError."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    from workbench.environments.requirement import SHORT, component_version

    found = []
    for number, line in enumerate(_text(file).splitlines(), start=1):
        text = line.partition(" #")[0].strip().rstrip("\\").strip()
        if not text or text.startswith(("#", "-")):
            continue
        if donated := component_version(text):
            raise ValueError(
                f"{file.name} line {number}: write sglang-kernel=={donated}, the package that carries it"
            )
        try:
            each = Requirement(text.partition(" --hash")[0])
        except InvalidRequirement as error:
            raise ValueError(
                f"{file.name} line {number} is no requirement: {text[:60]}; write name==version"
            ) from error
        each.name = SHORT.get(canonicalize_name(each.name), canonicalize_name(each.name))
        found.append(each)
    if not found:
        raise ValueError(
            f"{file.name} names no package; write one requirement a line, such as flashinfer-python==0.6.12"
        )
    return found


def _text(file: Path) -> str:
    try:
        return read(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file.name} is no text in UTF-8") from error


def expected(found: Fingerprint, wanted: "list[Requirement]") -> Iterator[Skew]:
    """A skew for each line that is not met; a local label such as +cu130 is no difference."""
    for each in wanted:
        python = str(found.facts["python"])
        target = {
            "python_version": ".".join(python.split(".")[:2]),
            "python_full_version": python,
            "extra": "",
        }
        if each.marker is not None and not each.marker.evaluate(target):
            continue
        has = found.version(each.name)
        if has and each.url:
            yield Skew(
                each.name,
                f"{each.name} {has}, expected from an address: not compared",
                "an address does not say which version lies there",
                f"write {each.name}==X in the file",
                NOTE,
            )
        elif not has or not allows(each, has):
            what = (
                f"{each.name} {has}, expected {each.specifier}"
                if has
                else f"{each.name} is not installed, expected {each.specifier or 'any'}"
            )
            yield Skew(
                each.name, what, WHY.get(each.name, "the pins of the project ask for it"), f"install '{each}'"
            )
