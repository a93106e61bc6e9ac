"""What *args, **kwargs and decorators accept beside the named parameters, and how that changed."""

from __future__ import annotations

from collections.abc import Iterator

from .change import Change
from .signature import OPTIONS, REST, Signature

Row = tuple[str, str, str]  # kind of change, parameter, detail


def catchers(signature: Signature) -> str:
    """Shown, such as *args and **kwargs."""
    return " and ".join(each.shown for each in signature.parameters if each.kind in (REST, OPTIONS))


def catching(function: str, old: Signature, new: Signature) -> Iterator[Change]:
    for kind, name, detail in (*_decorated(old, new), *_collecting(old, new), *_behind(old, new)):
        yield Change(function, kind, name, None, None, detail)


def _decorated(old: Signature, new: Signature) -> Iterator[Row]:
    for name in new.extra:
        if name not in old.extra and name not in old.named:
            yield "accepts_more", name, "a keyword that a decorator takes"
    for name in old.extra:
        if new.accepts(name) is False:
            yield "accepts_less", name, "a keyword that a decorator took"


def _collecting(old: Signature, new: Signature) -> Iterator[Row]:
    for kind, collects in ((REST, "collects positional arguments"), (OPTIONS, "collects keywords")):
        if new.has(kind) and not old.has(kind):
            yield "accepts_more", _of(new, kind), collects
        if old.has(kind) and not new.has(kind):
            yield "accepts_less", _of(old, kind), "nothing collects what is left over any more"


def _behind(old: Signature, new: Signature) -> Iterator[Row]:
    """Keywords that are accepted through *args and **kwargs, without standing in the signature."""
    for name in sorted(set(old.hidden) - set(new.hidden) - set(new.named) - set(old.named)):
        if new.accepts(name) is False:
            yield "parameter_removed", name, f"was accepted behind {catchers(old)}"
    for name in sorted(set(new.hidden) - set(old.hidden) - set(old.named)):
        if old.accepts(name) is False:
            yield "accepts_more", name, f"accepted behind {catchers(new)}"


def _of(signature: Signature, kind: str) -> str:
    return next(each.shown for each in signature.parameters if each.kind == kind)
