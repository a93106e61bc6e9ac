"""Assignments: which names, attributes and containers a statement gives something to."""

from __future__ import annotations

import ast
from itertools import zip_longest

from .syntax import Binding, Module, Place, Scope, Use

GROWING = {"append", "add", "insert", "appendleft", "setdefault"}


class Targets:
    module: Module
    order: int

    def _expression(self, node: ast.expr, place: Place, reached: bool = False) -> None:
        raise NotImplementedError

    def _grown(self, node: ast.Call, place: Place) -> None:
        """`wrappers.append(x)` is one more thing that `wrappers` holds; `options.update(x)` opens a dict."""
        called = node.func
        if isinstance(called, ast.Attribute) and node.args:
            if called.attr in GROWING:
                self._target(called.value, node.args[-1], place, node, "append")
            elif called.attr in ("update", "extend"):
                self._target(called.value, node.args[0], place, node, "extend")
        elif isinstance(called, ast.Attribute) and called.attr == "update":
            for word in node.keywords:
                name = ast.Constant(word.arg)
                self._target(called.value, name, place, node, "key" if word.arg else "extend")

    def _target(
        self, target: ast.AST, value: ast.expr, place: Place, node: ast.AST, how: str = "value"
    ) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, Binding(how, place, node, value))
        elif isinstance(target, ast.Starred):
            self._target(target.value, value, place, node, "extend")
        elif isinstance(target, ast.Tuple | ast.List):
            for index, part in enumerate(target.elts):
                self._part(part, index, value, place, node, how)
        elif isinstance(target, ast.Attribute):
            self._attribute(target, Binding(how, place, node, value))
            if how == "value":
                self.module.writes.append(Use(target, place))
        elif isinstance(target, ast.Subscript) and how == "value":
            key = target.slice
            text = isinstance(key, ast.Constant) and isinstance(key.value, str)
            self._target(target.value, key if text else value, place, node, "key" if text else "append")
            self._expression(target.value, place)

    def _part(
        self, part: ast.AST, index: int, value: ast.expr, place: Place, node: ast.AST, how: str
    ) -> None:
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) and how == "value" else []
        if index < len(parts) and not any(isinstance(each, ast.Starred) for each in parts):
            return self._target(part, parts[index], place, node)
        kind = {"value": "item", "each": "each item"}.get(how, how)
        if isinstance(part, ast.Name):
            self._bind(part.id, Binding(kind, place, node, value, index))
        elif isinstance(part, ast.Attribute):
            self._attribute(part, Binding(kind, place, node, value, index))
        else:
            self._target(part, value, place, node, "extend")

    def _attribute(self, target: ast.Attribute, binding: Binding) -> None:
        scope = binding.place.scope
        if isinstance(target.value, ast.Name) and target.value.id == scope.self_name and scope.parent:
            scope.parent.attributes.setdefault(target.attr, []).append(binding)

    def _bind(self, name: str, binding: Binding) -> None:
        scope = binding.place.scope
        if name in scope.foreign:
            scope = self._outer(name, scope)
            binding.place = Place(scope, binding.place.order, ((binding.node, "elsewhere"),))
        scope.bindings.setdefault(name, []).append(binding)

    def _outer(self, name: str, scope: Scope) -> Scope:
        outer = scope.parent
        while outer and outer.parent and name not in outer.bindings:
            outer = outer.parent
        return outer or self.module.top

    def _parameters(self, arguments: ast.arguments, inner: Scope) -> None:
        plain = [*arguments.posonlyargs, *arguments.args]
        late = [None] * (len(plain) - len(arguments.defaults))
        defaults = [*late, *arguments.defaults, *arguments.kw_defaults]
        every = [*plain, *arguments.kwonlyargs, *filter(None, (arguments.vararg, arguments.kwarg))]
        for each, default in zip_longest(every, defaults):
            place = Place(inner, self.order, ())
            inner.bindings[each.arg] = [Binding("parameter", place, each, each.annotation, default=default)]

    def _scope(self, kind: str, node: ast.AST, name: str, place: Place) -> Scope:
        above = place.scope.qualname
        qualname = f"{above}.{name}" if above else name
        inner = Scope(kind, node, self.module, place.scope, qualname, place.order, place.path)
        self.module.scopes[id(node)] = inner
        return inner
