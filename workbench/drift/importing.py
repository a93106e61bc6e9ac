"""Modules that are imported by a text: importlib.import_module."""

from __future__ import annotations

import ast
from typing import Any

from .syntax import Place
from .values import Constant, Values


def by_text(ev: Any, node: ast.Call, place: Place) -> Values:
    """The modules that `import_module(name, package)` may give."""
    names = _texts(ev, node.args[0] if node.args else None, place)
    package = _package(ev, node, place)
    return frozenset().union(*(ev.imported(absolute(name, package)) for name in names))


def absolute(name: str, package: str) -> str:
    """`.a` from `b.c` is b.c.a, `..a` is b.a."""
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    parts = package.split(".")
    start = parts[: len(parts) - level + 1] if level else []
    return ".".join([*start, *([rest] if rest else [])])


def _package(ev: Any, node: ast.Call, place: Place) -> str:
    named = next((word.value for word in node.keywords if word.arg == "package"), None)
    given = node.args[1] if len(node.args) > 1 else named
    if isinstance(given, ast.Name) and given.id in ("__package__", "__name__"):
        return place.scope.module.package
    return next(iter(_texts(ev, given, place)), "")


def _texts(ev: Any, node: ast.expr | None, place: Place) -> list[str]:
    held = [each.value for each in ev.value(node, place) if isinstance(each, Constant)]
    return sorted(each for each in held if isinstance(each, str))
