"""What *args, **kwargs and decorators accept beside the named parameters, and how that changed."""

from __future__ import annotations

from collections.abc import Iterator

from .change import Change
from .signature import OPTIONS, REST, Signature


def catchers(signature: Signature) -> str:
    """Shown, such as *args and **kwargs."""
    return " and ".join(each.shown for each in signature.parameters if each.kind in (REST, OPTIONS))


def catching(function: str, old: Signature, new: Signature) -> Iterator[Change]:
    for name in new.extra:
        if name not in old.extra and name not in old.named:
            yield Change(function, "accepts_more", name, None, None, "a keyword that a decorator takes")
    for name in old.extra:
        if new.accepts(name) is False:
            yield Change(function, "accepts_less", name, None, None, "a keyword that a decorator took")
    for kind in (REST, OPTIONS):
        if new.has(kind) and not old.has(kind):
            yield Change(
                function,
                "accepts_more",
                _of(new, kind),
                None,
                None,
                f"collects {'positional arguments' if kind == REST else 'keywords'}",
            )
        if old.has(kind) and not new.has(kind):
            yield Change(
                function,
                "accepts_less",
                _of(old, kind),
                None,
                None,
                "nothing collects what is left over any more",
            )
    for name in sorted(set(old.hidden) - set(new.hidden) - set(new.named) - set(old.named)):
        if new.accepts(name) is False:
            yield Change(
                function, "parameter_removed", name, None, None, f"was accepted behind {catchers(old)}"
            )
    for name in sorted(set(new.hidden) - set(old.hidden) - set(old.named)):
        if old.accepts(name) is False:
            yield Change(function, "accepts_more", name, None, None, f"accepted behind {catchers(new)}")


def _of(signature: Signature, kind: str) -> str:
    return next(each.shown for each in signature.parameters if each.kind == kind)
