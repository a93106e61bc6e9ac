"""What the body of a function does with its *args and **kwargs: which names are accepted behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .definitions import Library
from .signature import OPTIONS, POSITIONAL, REST, Signature
from .syntax import LAST, Place
from .values import Constant, Items, Local, LocalClass

Reading = Callable[[Any], Signature | None]  # of a function or class of the same package


def handed_on(library: Library, function: Local, own: Signature, reading: Reading) -> Signature:
    options = next((each.name for each in own.parameters if each.kind == OPTIONS), None)
    rest = next((each.name for each in own.parameters if each.kind == REST), None)
    body = list(nodes(function.node))
    if options:
        hidden, closed, defaults = _options(library, function, body, options, own, reading)
        own = replace(own, hidden=tuple(sorted(hidden)), closed=closed, defaults=defaults)
    return replace(own, legacy=_legacy(library, function, body, rest)) if rest else own


def nodes(node: Any) -> Any:
    for statement in node.body if isinstance(node.body, list) else [node.body]:
        yield from ast.walk(statement)


def _options(
    library: Library, function: Local, body: list[ast.AST], options: str, own: Signature, reading: Reading
) -> tuple[set[str], bool, dict[str, str]]:
    """The names that are taken out of **kwargs or that those accept to whom it is handed on."""
    hidden: set[str] = set()
    defaults: dict[str, str] = {}
    handed, closed = False, True
    for node in body:
        if not isinstance(node, ast.Call):
            continue
        hidden |= taken(node, options)
        if not _gets(node, options):
            continue
        handed, below = True, _callee(library, function, node, reading)
        if below is None:
            closed = False
            continue
        names = _left_open(below, node) - set(own.named)
        hidden |= names | set(below.hidden) | set(below.extra)
        defaults |= {name: below.named[name].default or "" for name in names}
        closed = closed and not (below.has(OPTIONS) and not below.closed)
    return hidden, closed and handed, defaults


def _gets(node: ast.Call, options: str) -> bool:
    """Whether the call is given **options."""
    opened = [word.value for word in node.keywords if word.arg is None]
    return any(isinstance(each, ast.Name) and each.id == options for each in opened)


def _left_open(below: Signature, node: ast.Call) -> set[str]:
    """Parameters that can still be given by keyword, beside those that the call gives itself."""
    given = {each.arg for each in node.keywords if each.arg}
    spent = {each.name for each in below.positional[: len(node.args)]}
    by_place = {each.name for each in below.parameters if each.kind == POSITIONAL}
    return set(below.named) - given - spent - by_place


def taken(node: ast.Call, options: str) -> set[str]:
    func = node.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == options:
        name = node.args[0] if node.args else None
        return {str(name.value)} if func.attr in ("pop", "get") and isinstance(name, ast.Constant) else set()
    return set()


def _callee(library: Library, function: Local, node: ast.Call, reading: Reading) -> Signature | None:
    for each in library.ev.value(node.func, Place(function.inner, LAST, ())):
        if isinstance(each, LocalClass) or (isinstance(each, Local) and each.node is not function.node):
            return reading(each)
    return None


def _legacy(library: Library, function: Local, body: list[ast.AST], rest: str) -> tuple[str, ...]:
    """Where *args and a tuple of names go into one call, the names are those of the arguments."""
    for node in body:
        if isinstance(node, ast.Call) and any(
            isinstance(each, ast.Name) and each.id == rest for each in node.args
        ):
            for each in node.args:
                for value in library.ev.value(each, Place(function.inner, 1 << 60, ())):
                    if isinstance(value, Items) and value.parts:
                        names = [
                            part.value
                            for parts in value.parts
                            for part in parts
                            if isinstance(part, Constant)
                        ]
                        if len(names) == len(value.parts) and all(isinstance(name, str) for name in names):
                            return tuple(names)
    return ()
