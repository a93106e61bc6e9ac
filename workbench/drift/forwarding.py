"""Thin wrappers: functions of the consumer that hand their *args or **kwargs on to another call."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .evaluate import Evaluator
from .handing import arguments
from .signature import read
from .values import Arguments, Local, Partial, Values, Wrapped

DEEPEST = 4


@dataclass(frozen=True)
class Forward:
    """A call inside a wrapper; `spread` is where its own *args go, `open` whether its own **kwargs do."""

    values: Values
    name: str  # what is called, where it is a plain name
    given: Arguments
    spread: int | None
    open: bool
    line: int


def forwards(ev: Evaluator, function: Local) -> list[Forward]:
    """The calls in its body that get its *args or **kwargs."""
    node: Any = function.node
    rest = node.args.vararg.arg if node.args.vararg else None
    options = node.args.kwarg.arg if node.args.kwarg else None
    found = []
    for use in function.inner.module.calls if rest or options else ():
        call: Any = use.node
        if use.place.scope is not function.inner:
            continue
        spread = [
            at for at, each in enumerate(call.args) if isinstance(each, ast.Starred) and _is(each.value, rest)
        ]
        opened = [word for word in call.keywords if word.arg is None and _is(word.value, options)]
        if spread or opened:
            args = [each for at, each in enumerate(call.args) if at not in spread]
            plain = ast.Call(call.func, args, [word for word in call.keywords if word not in opened])
            values, given = ev.value(call.func, use.place), arguments(ev, plain, use.place)
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            first = spread[0] if spread else None
            found.append(Forward(values, name, given, first, bool(opened), call.lineno))
    return found


def through(forward: Forward, function: Local, call: Arguments) -> Arguments:
    """What the inner call gets when the wrapper is called like that."""
    own = read(function.node.args, drop_first=function.bound and function.owner is not None)
    places = len(own.positional)
    inner = forward.given
    positional, star = list(inner.positional), inner.star
    if forward.spread is not None:
        positional[forward.spread : forward.spread] = call.positional[places:]
        if call.star is not None:
            star = forward.spread + max(call.star - places, 0) if star is None else star
    names = [name for name in call.keywords if name not in own.named] if forward.open else []
    perhaps = [name for name in call.perhaps if name not in own.named] if forward.open else []
    return Arguments(
        tuple(positional),
        tuple(dict.fromkeys((*inner.keywords, *names))),
        (*inner.perhaps, *perhaps),
        star,
        inner.open or (forward.open and call.open),
    )


def _is(node: ast.AST, name: str | None) -> bool:
    return name is not None and isinstance(node, ast.Name) and node.id == name


def unwrapped(value: Any, given: Arguments) -> tuple[Any, Arguments, str]:
    """Looks through partials and unknown wrappers: the callee, what it gets, and through whom."""
    by = ""
    while isinstance(value, Partial | Wrapped):
        if isinstance(value, Partial):
            value, given = value.callee, value.given.before(given)
        else:
            value, by = value.value, value.by
    return value, given, by
