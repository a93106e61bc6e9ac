"""Parameters that are gone, come, or have another name in the same place."""

from __future__ import annotations

from .signature import Parameter, Signature


def only(one: Signature, other: Signature) -> list[Parameter]:
    return [each for name, each in one.named.items() if name not in other.named]


def renamed(old: Signature, new: Signature) -> dict[str, str]:
    """A name that went where another came, in the same place with the same kind, annotation and default."""
    come = {each.index: each for each in only(new, old)}
    gone = only(old, new)
    found = {}
    for each in gone:
        shift = sum(other.index < each.index for other in come.values()) - sum(
            other.index < each.index for other in gone
        )
        other = come.get(each.index) or come.get(each.index + shift)
        alike = other and (other.kind, other.default, other.annotation) == (
            each.kind,
            each.default,
            each.annotation,
        )
        if other and alike and not new.accepts(each.name):
            found[each.name] = other.name
    return found
