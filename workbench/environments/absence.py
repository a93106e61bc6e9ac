"""Which releases that a spec names do not exist: asked of the index, or of a folder of wheels; nothing is installed."""

from pathlib import Path

from . import index, listing
from .requirement import CARRIED, DONOR, component_version
from .spec import Environment


def absent(environment: Environment, python: str, wheels: Path | None) -> list[str]:
    """Its requirements that no wheel for Python `python` (3.12) meets. Raises BuildError where nobody answers."""
    return [
        each for each in environment.requirements
        if not each.startswith("/") and not _there(each, python, wheels)
    ]  # fmt: skip


def _there(word: str, python: str, wheels: Path | None) -> bool:
    from packaging.requirements import Requirement

    if donated := component_version(word):
        word = f"{CARRIED if wheels else DONOR}=={donated}"
    wanted = Requirement(word)
    if wanted.url:
        return True
    found = listing.releases(wanted.name, python, wheels) if wheels else _indexed(wanted.name, python)
    yanked = [each for each, why in found.left_out.items() if why == listing.YANKED_WHY]
    return any(wanted.specifier.contains(each, prereleases=True) for each in (*found.versions, *yanked))


def _indexed(name: str, python: str) -> listing.Releases:
    said = index.versions(name, python, wheels_alone=True)
    return listing.read(name, said, said)
