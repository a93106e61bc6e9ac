"""What a call gives back, as far as it can be followed."""

from __future__ import annotations

import ast
from typing import Any

from .annotations import annotated
from .closures import closed
from .handing import arguments
from .importing import by_text
from .syntax import Place
from .values import (
    NOTHING,
    Closure,
    Constant,
    Dead,
    Items,
    Keys,
    Local,
    LocalClass,
    Made,
    Many,
    Name,
    Partial,
    Super,
    Values,
    Wrapped,
)

SAME = {"list", "tuple", "set", "sorted", "reversed", "iter", "staticmethod"}
TRANSPARENT = {  # hand on whatever they are called with
    "functools.cache",
    "functools.lru_cache",
    "torch.compile",
    "torch.compiler.disable",
    "torch._dynamo.disable",
}


def result(ev: Any, node: ast.Call, place: Place) -> Values:
    """The values of a call expression."""
    if isinstance(node.func, ast.Name):
        known = _builtin(ev, node, place)
        if known is not None:
            return known
    found: set[Any] = set()
    called = ev.value(node.func, place)
    for each in called:
        found |= _called(ev, each, node, place)
    if called:
        return frozenset(found)
    known = _method(ev, node, place) if isinstance(node.func, ast.Attribute) else NOTHING
    return known or _wrapped(ev, node, place, ast.unparse(node.func)[:60])


def _called(ev: Any, called: Any, node: ast.Call, place: Place) -> Values:
    match called:
        case Dead():
            return frozenset(Dead(each, called.why) for each in _called(ev, called.value, node, place))
        case LocalClass():
            return frozenset([Made(called)])
        case Local():
            made = closed(ev, called, ev.returned(called), node, place)
            return made or _wrapped(ev, node, place, called.qualname)
        case Closure():
            return closed(ev, called.function, ev.returned(called.function), node, place, called.held)
        case Name():
            return _of_name(ev, called, node, place)
        case Wrapped():
            return _wrapped(ev, node, place, called.by)
        case Keys() | Many() | Items():
            return NOTHING
    return NOTHING


def _of_name(ev: Any, called: Name, node: ast.Call, place: Place) -> Values:
    short = called.dotted
    first = ev.value(node.args[0], place) if node.args else NOTHING
    if short in ("functools.partial", "functools.partialmethod"):
        given = arguments(ev, node, place, skip=1)
        return frozenset(Partial(each, given) for each in first)
    if short == "importlib.import_module":
        return by_text(ev, node, place)
    if short in TRANSPARENT and first:
        return first
    if short in ("typing.cast", "copy.copy", "copy.deepcopy"):
        return ev.value(node.args[-1], place) if node.args else NOTHING
    if ev.is_class(short):
        return frozenset([Made(called)])
    return _wrapped(ev, node, place, short)


def _text(value: Any) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str)


def _wrapped(ev: Any, node: ast.Call, place: Place, by: str) -> Values:
    """A callable handed to something unknown, whose answer is most likely a wrapper of it."""
    if not node.args:
        return NOTHING
    held = ev.value(node.args[0], place)
    return frozenset(
        Wrapped(each, by) for each in held if isinstance(each, Name | Partial | Dead | Local | Closure)
    )


def _builtin(ev: Any, node: ast.Call, place: Place) -> Values | None:
    name = node.func.id  # type: ignore[attr-defined]
    if ev.name(name, place):
        return None
    first = node.args[0] if node.args else None
    if name == "getattr" and len(node.args) >= 2:
        return _getattr(ev, node, place)
    if name in SAME:
        return ev.value(first, place)
    if name == "type" and len(node.args) == 1:
        return ev.attributes(ev.value(first, place), "__class__")
    if name == "next":
        return ev.elements(ev.value(first, place))
    if name == "dict" and not node.args and all(word.arg for word in node.keywords):
        inner = frozenset().union(*(ev.value(word.value, place) for word in node.keywords))
        return frozenset([Keys(tuple(word.arg or "" for word in node.keywords), inner)])
    if name == "dict" and node.args:
        return ev.value(first, place)
    if name == "enumerate":
        return frozenset([Many(frozenset([Items((NOTHING, ev.elements(ev.value(first, place))))]))])
    if name == "zip":
        parts = tuple(ev.elements(ev.value(each, place)) for each in node.args)
        return frozenset([Many(frozenset([Items(parts)]))])
    if name == "__import__" and isinstance(first, ast.Constant):
        return ev.imported(str(first.value).split(".")[0])
    if name == "super":
        scope = place.scope
        while scope.parent and scope.parent.kind != "class":
            scope = scope.parent
        return frozenset([Super(ev.local_class(scope.parent))]) if scope.parent else NOTHING
    return None


def _getattr(ev: Any, node: ast.Call, place: Place) -> Values:
    held = ev.value(node.args[0], place)
    names = [each.value for each in ev.value(node.args[1], place) if _text(each)]
    found = frozenset().union(*(ev.attributes(held, name) for name in names))
    return found | (ev.value(node.args[2], place) if len(node.args) > 2 else NOTHING)


def _method(ev: Any, node: ast.Call, place: Place) -> Values:
    """`.items()` and the like of a container."""
    func: Any = node.func
    held = ev.value(func.value, place)
    inner = ev.elements(held)
    if not held:
        return NOTHING
    if func.attr == "items":
        return frozenset([Many(frozenset([Items((NOTHING, inner))]))])
    if func.attr == "values":
        return frozenset([Many(inner)])
    if func.attr == "copy":
        return held
    return inner if func.attr in ("get", "pop", "popleft", "setdefault") else NOTHING


def returns(ev: Any, function: Local) -> Values:
    """The values of its return statements."""
    if isinstance(function.node, ast.Lambda):
        return ev.value(function.node.body, Place(function.inner, 1 << 60, ()))
    found: set[Any] = set()
    for node in _own(function.node):
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            place = function.inner.module.returns.get(id(node), Place(function.inner, 1 << 60, ()))
            held = ev.value(node.value, place)
            found |= held | {Many(held)} if isinstance(node, ast.Yield) else held
    if function.node.returns is not None and not found:
        found |= annotated(ev, function.node.returns, Place(function.inner, 1 << 60, ()))
    return frozenset(each for each in found if not isinstance(each, Constant))


def _own(node: ast.AST) -> Any:
    """Nodes inside, without those of nested functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)
