"""Which releases that a spec names do not exist: asked of the index, or of a folder of wheels; nothing is installed."""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from . import index, listing
from .requirement import CARRIED, DONOR, component_version, exact
from .spec import Environment

NEAREST = 2


def absent(environment: Environment, python: str, wheels: Path | None) -> dict[str, tuple[str, ...]]:
    """Its requirements that no wheel for Python `python` (3.12) meets, and the versions nearest to each.

    Raises BuildError where nobody answers.
    """
    asked = {
        each: _nearest(each, python, wheels)
        for each in environment.requirements
        if not each.startswith("/")
    }  # fmt: skip
    return {each: nearest for each, nearest in asked.items() if nearest is not None}


def _nearest(word: str, python: str, wheels: Path | None) -> tuple[str, ...] | None:
    """None where it is there."""
    from packaging.requirements import Requirement

    if donated := component_version(word):
        word = f"{CARRIED if wheels else DONOR}=={donated}"
    wanted = Requirement(word)
    if wanted.url:
        return None
    found = listing.releases(wanted.name, python, wheels) if wheels else _indexed(wanted.name, python)
    yanked = [each for each, why in found.left_out.items() if why == listing.YANKED_WHY]
    if any(wanted.specifier.contains(each, prereleases=True) for each in (*found.versions, *yanked)):
        return None
    return nearest(found.versions, exact(wanted))


def nearest(versions: Sequence[str], pin: str | None) -> tuple[str, ...]:
    """The NEAREST before it and after it, of those that are there, oldest first; the newest where there is no pin."""
    from packaging.version import Version

    place = bisect_left(versions, Version(pin), key=Version) if pin else len(versions)
    return tuple(versions[max(0, place - NEAREST) : place + NEAREST])


def _indexed(name: str, python: str) -> listing.Releases:
    said = index.versions(name, python, wheels_alone=True)
    return listing.read(name, said, said)
