"""What hides an import that fails, and what a file imports without being parsed."""

from __future__ import annotations

import ast
import re

from .flow import suppresses
from .syntax import Import, Module, Path

LINE = re.compile(r"^(?:from\s+(\.*)([\w.]*)\s+import\s+(\([^)]*\)|[^\n#]*)|import\s+([\w.]+))", re.MULTILINE)
CATCHING = {"ImportError", "Exception", "BaseException"}


def imported(text: str, package: str) -> list[str]:
    """What a file imports at the left margin, without parsing it."""
    found = []
    for dots, start, names, plain in LINE.findall(text):
        above = package.split(".")[: package.count(".") + 2 - len(dots)] if dots else []
        module = ".".join([*above, *([start] if start else [])])
        words = re.findall(r"(\w+)(?:\s+as\s+\w+)?", names)
        found += [plain] if plain else [f"{module}.{word}" for word in words]
    return found


def imports_inside(node: ast.Try, module: Module) -> list[Import]:
    """Those in the body of a try."""
    lines = range(node.body[0].lineno, (node.body[-1].end_lineno or node.body[-1].lineno) + 1)
    return [each for each in module.imports if each.node.lineno in lines]


def guard_of(path: Path, catches: set[str], whole: bool = False) -> tuple[int | None, int]:
    """The line of the innermost block around that catches such an error, and how deep it lies."""
    wanted = catches | ({"ModuleNotFoundError"} if whole else set())
    for depth in range(len(path) - 1, -1, -1):
        node, branch = path[depth]
        if isinstance(node, ast.Try) and branch == "body":
            for handler in node.handlers:
                if caught(handler) & wanted:
                    return handler.lineno, depth
        if isinstance(node, ast.With | ast.AsyncWith) and suppresses(node) and _names(node, wanted):
            return node.lineno, depth
    return None, -1


def _names(node: ast.With | ast.AsyncWith, wanted: set[str]) -> bool:
    return any(name in ast.unparse(item.context_expr) for item in node.items for name in wanted)


def caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(each).rpartition(".")[2] for each in types}
