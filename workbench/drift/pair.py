"""Two releases to be compared: of one package, or it is said that they are not."""

from collections.abc import Callable
from pathlib import Path

from .definitions import Library
from .releases import open_release


def open_pair(old: str, new: str, wheels: Path | None, say: Callable[[str], None]) -> tuple[Library, Library]:
    """As `open_release` finds them. Raises ValueError, also where no package is in both."""
    one, other = (Library(open_release(spec, wheels=wheels, say=say)) for spec in (old, new))
    if not one.tops & other.tops:
        raise ValueError(
            f"{_named(one)} and {_named(other)} have no package in common; name two releases of one"
        )
    return one, other


def _named(library: Library) -> str:
    return f"{library.tree.label} ({', '.join(sorted(library.tops)[:3]) or 'no package'})"
