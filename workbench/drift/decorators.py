"""What a decorator changes in what is accepted, read from the decorator's own source."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from .behind import nodes, taken
from .definitions import Library, place_of
from .signature import Signature, read
from .syntax import Scope
from .values import Local, Name

KEEPING = {  # decorators of other packages that leave a signature alone
    "functools.cache", "functools.lru_cache", "torch.no_grad", "torch.inference_mode", "torch.compile",
    "torch.compiler.disable", "typing.no_type_check", "typing.overload", "contextlib.contextmanager",
    "abc.abstractmethod", "triton.jit", "dataclasses.dataclass", "cutlass.cutlass_dsl.dsl_user_op", "cutlass.cute.jit",
}  # fmt: skip
BY_LAST_NAME = {each.rpartition(".")[2] for each in KEEPING} | {"setter", "jit", "register"}
BUILT_IN = {"staticmethod", "classmethod", "property"}


def decorated(library: Library, function: Local, decorator: ast.expr, own: Signature) -> Signature:
    """Reads the decorator's own source: it may return the function, or a wrapper that takes more, or another one."""
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(made, ast.Name) and made.id in BUILT_IN:
        return own
    found = library.ev.value(made, place_of(function))
    for each in found:
        if isinstance(each, Name) and each.dotted in KEEPING:
            return own
        if isinstance(each, Local):
            return _through(each, decorator, own)
    name = ast.unparse(made)
    if name.rpartition(".")[2] in BY_LAST_NAME:
        return own
    return replace(own, doubt=own.doubt or f"the decorator {name} may change what is accepted")


def _through(decorator: Local, used: ast.expr, own: Signature) -> Signature:
    wrappers = [
        scope for scope in decorator.inner.module.scopes.values()
        if _inside(scope, decorator.inner) and isinstance(scope.node, ast.FunctionDef) and _wraps(scope.node)
    ]  # fmt: skip
    extra: list[str] = []
    for scope in wrappers:
        node: Any = scope.node
        if not (node.args.vararg and node.args.kwarg):
            inner = f"{node.name}{read(node.args, drop_first=False).text}"
            return replace(own, doubt=f"the decorator {ast.unparse(used)[:60]} wraps it in {inner}")
        extra += [
            name
            for each in nodes(node)
            if isinstance(each, ast.Call)
            for name in _popped(each, node.args.kwarg.arg)
        ]
        extra += [each.arg for each in node.args.kwonlyargs]
    return replace(own, extra=tuple(dict.fromkeys((*own.extra, *sorted(extra)))))


def _popped(node: ast.Call, options: str) -> set[str]:
    """`kwargs.pop("skip_check", False)`: the wrapped function never sees it."""
    func = node.func
    popped = isinstance(func, ast.Attribute) and func.attr == "pop"
    return taken(node, options) if popped else set()


def _inside(scope: Scope, outer: Scope) -> bool:
    above = scope.parent
    while above:
        if above is outer:
            return True
        above = above.parent
    return False


def _wraps(node: ast.FunctionDef) -> bool:
    """Decorated with functools.wraps: it stands in for the function."""
    return any("wraps" in ast.unparse(each) for each in node.decorator_list)
