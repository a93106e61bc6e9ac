"""What a function's decorators claim to support, read from the source: backend -> compute capabilities."""

from __future__ import annotations

import ast
from typing import Any

from .definitions import Definition, Library, place_of
from .syntax import Place
from .values import Constant, Items, Keys, Local, LocalClass, Many

CAPABILITIES = "supported_compute_capability"
REQUIREMENT = "backend_requirement"
Claims = dict[str, tuple[int, ...] | None]  # None: a backend without a statement


def claims(library: Library, definition: Definition) -> Claims:
    """{} where nothing is stated; "*" is the function as a whole."""
    value = definition.value
    if isinstance(value, LocalClass):
        found = library.ev.class_attribute(value, "__init__", True)
        value = next((each for each in found if isinstance(each, Local)), None)
    return _of(library, value) if isinstance(value, Local) else {}


def text(stated: Claims) -> str:
    """cudnn:100+103; trtllm:100"""
    return (
        "; ".join(
            f"{name}:{'+'.join(map(str, each)) if each else 'not stated'}" for name, each in stated.items()
        )
        or "-"
    )


def _of(library: Library, function: Local) -> Claims:
    node: Any = function.node
    found: Claims = {}
    for decorator in getattr(node, "decorator_list", []):
        if not isinstance(decorator, ast.Call):
            continue
        name = ast.unparse(decorator.func).rpartition(".")[2]
        if name == CAPABILITIES:
            found["*"] = _numbers(library, decorator, place_of(function))
        elif name == REQUIREMENT:
            found |= _required(library, decorator, place_of(function))
    return found


def _required(library: Library, decorator: ast.Call, place: Place) -> Claims:
    named = {word.arg: word.value for word in decorator.keywords}
    given = list(decorator.args)
    checks = given[0] if given else named.get("backend_checks")
    common = given[1] if len(given) > 1 else named.get("common_check")
    found: Claims = {}
    table = _table(library, checks, place)
    for backend, check in table.items():
        found[backend] = _checked(library, check, place)
    whole = _checked(library, common, place)
    return found | ({"*": whole} if whole else {})


def _table(library: Library, node: ast.expr | None, place: Place) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    return {
        str(key.value): value
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant)
    }


def _checked(library: Library, check: ast.expr | None, place: Place) -> tuple[int, ...] | None:
    for each in library.ev.value(check, place):
        if isinstance(each, Local):
            return _of(library, each).get("*")
    return None


def _numbers(library: Library, decorator: ast.Call, place: Place) -> tuple[int, ...] | None:
    held = library.ev.value(decorator.args[0], place) if decorator.args else frozenset()
    inner = library.ev.elements(frozenset(each for each in held if isinstance(each, Items | Many | Keys)))
    return (
        tuple(
            sorted(each.value for each in inner if isinstance(each, Constant) and isinstance(each.value, int))
        )
        or None
    )
