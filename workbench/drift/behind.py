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
    handed, closed = 0, True
    for node in body:
        if isinstance(node, ast.Call):
            hidden |= taken(node, options)
            for word in node.keywords:
                if word.arg is None and isinstance(word.value, ast.Name) and word.value.id == options:
                    handed += 1
                    below = _callee(library, function, node, reading)
                    if below is None:
                        closed = False
                        continue
                    given = {each.arg for each in node.keywords if each.arg}
                    spent = {each.name for each in below.positional[: len(node.args)]}
                    names = (
                        set(below.named)
                        - given
                        - spent
                        - set(own.named)
                        - {each.name for each in below.parameters if each.kind == POSITIONAL}
                    )
                    hidden |= names | set(below.hidden) | set(below.extra)
                    defaults |= {
                        name: below.named[name].default or "" for name in names if name in below.named
                    }
                    closed = closed and not (below.has(OPTIONS) and not below.closed)
    return hidden, closed and handed > 0, defaults


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
