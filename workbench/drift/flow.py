"""Walks a file once, in order, and notes what binds which name where."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .syntax import Binding, Import, Module, Path, Place, Scope, Use
from .targets import Targets

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Flow(Targets):
    def __init__(self, module: Module) -> None:
        self.module = module
        self.order = 0

    def read(self, body: list[ast.stmt]) -> None:
        self._block(body, self.module.top, ())

    def _block(self, body: Iterable[ast.stmt], scope: Scope, path: Path) -> None:
        for statement in body:
            self.order += 1
            self._statement(statement, Place(scope, self.order, path))

    def _statement(self, node: Any, place: Place) -> None:
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler:
            handler(node, place)
        else:
            self._expressions(node, place)

    # -- statements that bind names

    def _import(self, node: ast.Import, place: Place) -> None:
        for alias in node.names:
            dotted = alias.name if alias.asname else alias.name.split(".")[0]
            self._bind(alias.asname or dotted, Binding("import", place, node, dotted=dotted))
            self.module.imports.append(Import(alias.name, node, place, whole=True))

    def _importfrom(self, node: ast.ImportFrom, place: Place) -> None:
        start = node.module or ""
        if node.level:
            parts = self.module.package.split(".")
            parts = parts[: len(parts) - node.level + 1]
            start = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                found = Import(start, node, place, star=True)
                self.module.stars.append(found)
            else:
                dotted = f"{start}.{alias.name}"
                found = Import(dotted, node, place)
                self._bind(alias.asname or alias.name, Binding("import", place, node, dotted=dotted))
            self.module.imports.append(found)

    def _functiondef(self, node: Any, place: Place) -> None:
        for each in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self._expression(each, place)
        self._bind(node.name, Binding("def", place, node))
        inner = self._scope("function", node, node.name, place)
        self._parameters(node.args, inner)
        self._block(node.body, inner, ())

    _asyncfunctiondef = _functiondef

    def _classdef(self, node: ast.ClassDef, place: Place) -> None:
        for each in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self._expression(each, place)
        self._bind(node.name, Binding("class", place, node))
        self._block(node.body, self._scope("class", node, node.name, place), ())

    def _return(self, node: ast.Return, place: Place) -> None:
        self.module.returns[id(node)] = place
        self._expressions(node, place)

    def _assign(self, node: ast.Assign, place: Place) -> None:
        self._expression(node.value, place)
        for target in node.targets:
            self._target(target, node.value, place, node)

    def _annassign(self, node: ast.AnnAssign, place: Place) -> None:
        if node.value:
            self._expression(node.value, place)
            self._target(node.target, node.value, place, node)
        else:
            self._target(node.target, node.annotation, place, node, "annotated")

    def _augassign(self, node: ast.AugAssign, place: Place) -> None:
        self._expression(node.value, place)
        self._target(node.target, node.value, place, node, "extend")

    def _delete(self, node: ast.Delete, place: Place) -> None:
        for target in node.targets:
            self._target(target, ast.Constant(None), place, node)

    def _global(self, node: ast.Global | ast.Nonlocal, place: Place) -> None:
        place.scope.foreign.update(node.names)

    _nonlocal = _global

    # -- statements that hold blocks

    def _if(self, node: ast.If, place: Place) -> None:
        self._expression(node.test, place)
        self._block(node.body, place.scope, (*place.path, (node, "body")))
        self._block(node.orelse, place.scope, (*place.path, (node, "orelse")))

    def _for(self, node: Any, place: Place) -> None:
        self._expression(node.iter, place)
        inside = Place(place.scope, self.order, (*place.path, (node, "loop")))
        self._target(node.target, node.iter, inside, node, "each")
        self._block(node.body, place.scope, inside.path)
        self._block(node.orelse, place.scope, (*place.path, (node, "orelse")))

    _asyncfor = _for

    def _while(self, node: ast.While, place: Place) -> None:
        self._expression(node.test, place)
        self._block(node.body, place.scope, (*place.path, (node, "loop")))
        self._block(node.orelse, place.scope, (*place.path, (node, "orelse")))

    def _with(self, node: Any, place: Place) -> None:
        inside = (*place.path, (node, "with"))
        for item in node.items:
            self._expression(item.context_expr, place)
            if item.optional_vars:
                self._target(item.optional_vars, item.context_expr, place, node)
        self._block(node.body, place.scope, inside if suppresses(node) else place.path)

    _asyncwith = _with

    def _try(self, node: Any, place: Place) -> None:
        self._block(node.body, place.scope, (*place.path, (node, "body")))
        for handler in node.handlers:
            inside = (*place.path, (node, f"handler {handler.lineno}"))
            if handler.name:
                self._bind(handler.name, Binding("caught", Place(place.scope, self.order, inside), handler))
            self._block(handler.body, place.scope, inside)
        self._block(node.orelse, place.scope, (*place.path, (node, "orelse")))
        self._block(node.finalbody, place.scope, place.path)

    _trystar = _try

    def _match(self, node: ast.Match, place: Place) -> None:
        self._expression(node.subject, place)
        for case in node.cases:
            self._block(case.body, place.scope, (*place.path, (case, "case")))

    # -- expressions

    def _expressions(self, node: ast.AST, place: Place) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, place)

    def _expression(self, node: ast.expr, place: Place, reached: bool = False) -> None:
        if isinstance(node, ast.Lambda):
            inner = self._scope("function", node, "<lambda>", place)
            self._parameters(node.args, inner)
            return self._expression(node.body, Place(inner, self.order + 1, ()))
        if isinstance(node, ast.Call):
            self.module.calls.append(Use(node, place))
            self._grown(node, place)
        elif isinstance(node, ast.Attribute) and not reached:
            self.module.reads.append(Use(node, place))
        elif isinstance(node, ast.Yield):
            self.module.returns[id(node)] = place
        elif isinstance(node, ast.NamedExpr):
            self._target(node.target, node.value, place, node)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            for part in node.generators:
                self._target(part.target, part.iter, place, part.iter, "each")
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, place, isinstance(node, ast.Attribute))
            elif isinstance(child, ast.keyword):
                self._expression(child.value, place)
            elif isinstance(child, ast.comprehension):
                self._expressions(child, place)


def suppresses(node: ast.With | ast.AsyncWith) -> bool:
    """`with contextlib.suppress(ImportError):`"""
    return any(
        isinstance(item.context_expr, ast.Call) and "suppress" in ast.unparse(item.context_expr.func)
        for item in node.items
    )
