"""Functions made by functions: a decorator's inner one, which calls what the decorator was given."""

from __future__ import annotations

import ast
from typing import Any

from .signature import read
from .syntax import Place
from .values import Closure, Local, Values

Held = tuple[tuple[str, Values], ...]


def closed(ev: Any, outer: Local, returned: Values, node: ast.Call, place: Place, above: Held = ()) -> Values:
    """What `outer` returns, its own functions together with what this call of it hands over."""
    held = (*above, *_held(ev, outer, node, place))
    return frozenset(
        Closure(each, held) if isinstance(each, Local) and each.scope is outer.inner else each
        for each in returned
    )


def _held(ev: Any, outer: Local, node: ast.Call, place: Place) -> Held:
    own = read(outer.node.args, drop_first=outer.bound and outer.owner is not None)
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    given = {each.name: value for each, value in zip(own.positional, plain, strict=False)}
    given |= {word.arg: word.value for word in node.keywords if word.arg}
    return tuple((name, ev.value(value, place)) for name, value in given.items())
