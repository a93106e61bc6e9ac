"""Instances that an annotation promises."""

from __future__ import annotations

import ast
from typing import Any

from .syntax import Place
from .values import NOTHING, Dead, LocalClass, Made, Many, Name, Values


def annotated(ev: Any, node: ast.AST | None, place: Place) -> Values:
    """Instances of the classes that an annotation names: `A | None`, `Optional[A]`, `list[A]`, `"A"`."""
    match node:
        case ast.Constant(value=str()):
            try:
                return annotated(ev, ast.parse(str(node.value), mode="eval").body, place)
            except (SyntaxError, ValueError):
                return NOTHING
        case ast.BinOp(op=ast.BitOr()):
            return annotated(ev, node.left, place) | annotated(ev, node.right, place)
        case ast.Subscript():
            return _generic(ev, node, place)
        case ast.Name() | ast.Attribute():
            held = ev.value(node, place)
            return frozenset(Made(each) for each in held if _class_like(ev, each))
    return NOTHING


def _class_like(ev: Any, value: Any) -> bool:
    if isinstance(value, Dead):
        return _class_like(ev, value.value)
    return isinstance(value, LocalClass) or (isinstance(value, Name) and ev.is_class(value.dotted))


def _generic(ev: Any, node: ast.Subscript, place: Place) -> Values:
    kind = ast.unparse(node.value).rpartition(".")[2].lower()
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    inner = frozenset().union(*(annotated(ev, each, place) for each in parts))
    if kind in ("optional", "union", "final", "annotated", "classvar"):
        return inner
    return frozenset([Many(inner)]) if inner else NOTHING
