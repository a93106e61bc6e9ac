"""Requirements that a release declares, and how they differ from another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .change import Change
from .tree import Tree

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def pins(tree: Tree) -> dict[tuple[str, str], str]:
    """(distribution, marker) -> specifier; "any" where it is not bound. Python itself is among them."""
    from packaging.utils import canonicalize_name

    found = {(name, ""): each for name in ("python",) for each in tree.metadata("Requires-Python")}
    for line in tree.metadata("Requires-Dist"):
        each = _read(line)
        if each is not None:
            name = canonicalize_name(each.name) + (
                f"[{','.join(sorted(each.extras))}]" if each.extras else ""
            )
            found[name, str(each.marker or "")] = str(each.specifier) or "any"
    return found


def compare(old: Tree, new: Tree) -> list[Change]:
    before, after = pins(old), pins(new)
    name = new.name or old.name
    rows = []
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            condition = f" ({key[1]})" if key[1] else ""
            detail = f"{before.get(key, 'not required')} became {after.get(key, 'not required')}{condition}"
            rows.append(Change(name, "pins_changed", key[0], None, None, detail))
    return rows


def _read(line: str) -> Requirement | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(line)
    except InvalidRequirement:
        return None
