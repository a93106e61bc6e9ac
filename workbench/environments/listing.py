"""Which versions of a package there are, in the index or in a folder of wheels, and which cannot be installed here."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import index
from .dependencies import fitting

YANKED = "Ignored the following yanked versions: "
OTHER_PYTHON = "Ignored the following versions that require a different python version: "
NO_WHEEL = "no wheel for this Python and machine"
YANKED_WHY = "yanked"


@dataclass(frozen=True)
class Releases:
    """`versions` that have a wheel for this Python, oldest first; the others are `left_out`, each with why."""

    name: str
    versions: tuple[str, ...]
    left_out: dict[str, str]


def releases(name: str, python: str, wheels: Path | None = None) -> Releases:
    """Those of a distribution, for Python `python` (3.12). Raises BuildError."""
    if wheels is not None:
        return _in_folder(name, python, wheels)
    every, usable = (index.versions(name, python, wheels_alone) for wheels_alone in (False, True))
    return read(name, every, usable)


def read(name: str, every: str, usable: str) -> Releases:
    """From what pip says of all versions, and of those that have a wheel. Pure."""
    there = _from_versions(usable)
    left_out = dict.fromkeys(_from_versions(every) - there, NO_WHEEL)
    left_out |= dict.fromkeys(_after(every, OTHER_PYTHON), "for another Python")
    left_out |= dict.fromkeys(_after(every, YANKED) | _after(usable, YANKED), YANKED_WHY)
    return _ordered(name, there - left_out.keys(), left_out)


def _in_folder(name: str, python: str, wheels: Path) -> Releases:
    from packaging.requirements import Requirement
    from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

    there = {str(parse_wheel_filename(file.name)[1]) for file in fitting(wheels, Requirement(name), python)}
    every = set()
    for file in wheels.glob("*.whl"):
        try:
            distribution, version, _, _ = parse_wheel_filename(file.name)
        except InvalidWheelFilename:
            continue
        if distribution == canonicalize_name(name):
            every.add(str(version))
    return _ordered(name, there, dict.fromkeys(every - there, NO_WHEEL))


def _ordered(name: str, there: Iterable[str], left_out: dict[str, str]) -> Releases:
    from packaging.version import Version

    oldest_first = sorted(left_out, key=Version)
    return Releases(name, tuple(sorted(there, key=Version)), {each: left_out[each] for each in oldest_first})


def _from_versions(said: str) -> set[str]:
    found = re.search(r"\(from versions: ([^)]*)\)", said)
    return _versions(found[1].split(", ")) if found else set()


def _after(said: str, words: str) -> set[str]:
    """The versions in the line that begins so: `1.0, 1.1` or `1.0 Requires-Python >=3.13; 1.1 ...`."""
    line = said.partition(words)[2].partition("\n")[0]
    return _versions(re.split(r"[;,] (?=\d)", line))


def _versions(texts: Iterable[str]) -> set[str]:
    from packaging.version import InvalidVersion, Version

    found = set()
    for text in texts:
        try:
            found.add(str(Version(text.split()[0])))
        except (InvalidVersion, IndexError):
            continue
    return found
