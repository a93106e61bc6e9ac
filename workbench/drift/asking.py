"""Tests of the library's version or signature that stand before a use: it may be made for that version alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .syntax import Place

WORDS = re.compile(r"""signature\(|hasattr\(|[vV]ersion|getfullargspec|find_spec\(['"]\w+\.""")
LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def test_before(node: ast.AST, place: Place) -> ast.If | None:
    """Such a test around a use or the functions it is in, or before it with a body that leaves."""
    at: Place | None = place
    while at:
        scope = at.scope
        around = [each for each, _ in at.path if isinstance(each, ast.If)]
        body = getattr(scope.node, "body", [])
        passed = left_early(body, node.lineno) if isinstance(body, list) else []  # type: ignore[attr-defined]
        if found := next((each for each in (*around, *passed) if asks(each.test, at)), None):
            return found
        node, at = scope.node, Place(scope.parent, scope.order, scope.path) if scope.parent else None
    return None


def asks(test: ast.expr, place: Place, deep: bool = True) -> bool:
    """Whether it is about versions or signatures: itself, or what its names were set to."""
    if WORDS.search(ast.unparse(test)):
        return True
    scopes = (place.scope, place.scope.module.top)
    bindings = [
        binding for node in ast.walk(test) if deep and isinstance(node, ast.Name)
        for scope in scopes for binding in scope.bindings.get(node.id, [])
    ]  # fmt: skip
    return any(each.value is not None and asks(each.value, place, False) for each in bindings)


def left_early(body: list[ast.stmt], line: int) -> Iterator[ast.If]:
    """Tests before that line, in the blocks around it, after which nothing of the block is reached."""
    for statement in body:
        if statement.lineno <= line <= (statement.end_lineno or line):
            for block in _blocks(statement):
                yield from left_early(block, line)
            return
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], LEAVING):
            yield statement


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, [])
        if isinstance(block, list) and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body
