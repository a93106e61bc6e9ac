"""Follows expressions to what they may be: imports, aliases, attributes, partials, tuples, instances."""

from __future__ import annotations

import ast
from typing import Any

from . import calling
from .names import Names
from .syntax import LAST, Place
from .values import NOTHING, Constant, Dead, Items, Keys, Many, Name, Values


class Evaluator(Names):
    """Over the modules of `world`; names of other packages stay names."""

    def value(self, node: ast.AST | None, place: Place) -> Values:
        """What the expression may be at that place."""
        if node is None:
            return NOTHING
        return self._once(("value", id(node)), lambda: self._value(node, place))

    def _value(self, node: Any, place: Place) -> Values:
        match node:
            case ast.Name():
                return self.name(node.id, place)
            case ast.Attribute():
                return self.attributes(self.value(node.value, place), node.attr)
            case ast.Constant():
                return frozenset([Constant(node.value)])
            case ast.Call():
                return calling.result(self, node, place)
            case ast.IfExp():
                return self.value(node.body, place) | self.value(node.orelse, place)
            case ast.BoolOp():
                return frozenset().union(*(self.value(each, place) for each in node.values))
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.value(node.value, place)
            case ast.Tuple() | ast.List() | ast.Set():
                return self._sequence(node.elts, place)
            case ast.Dict():
                return self._dict(node, place)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return frozenset([Many(self.value(node.elt, place))])
            case ast.DictComp():
                return frozenset([Many(self.value(node.value, place))])
            case ast.Subscript():
                return self._item(node, place)
            case ast.Lambda():
                return frozenset([self.local(place.scope.module.scopes[id(node)])])
        return NOTHING

    def _sequence(self, parts: list[ast.expr], place: Place) -> Values:
        if any(isinstance(each, ast.Starred) for each in parts):
            inner = [
                self.elements(self.value(each, place))
                if isinstance(each, ast.Starred)
                else self.value(each, place)
                for each in parts
            ]
            return frozenset([Many(frozenset().union(*inner))])
        return frozenset([Items(tuple(self.value(each, place) for each in parts))])

    def _dict(self, node: ast.Dict, place: Place) -> Values:
        inner = frozenset().union(*(self.value(each, place) for each in node.values))
        names = [
            each.value for each in node.keys if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if len(names) == len(node.keys):
            return frozenset([Keys(tuple(names), inner)])
        return frozenset([Many(inner)])

    def _item(self, node: ast.Subscript, place: Place) -> Values:
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(key, str) and (named := self._named(node.value, key, place)):
            return named
        held = self.value(node.value, place)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return self.item(held, node.slice.value)
        if Name("sys.modules") in held and isinstance(node.slice, ast.Constant):
            return frozenset([Name(str(node.slice.value))])
        return self.elements(held)

    def _named(self, held: ast.expr, key: str, place: Place) -> Values:
        """`globals()["f"]`, `vars(module)["f"]`, `module.__dict__["f"]`"""
        match held:
            case ast.Call(func=ast.Name(id="globals")):
                return self.name(key, Place(place.scope.module.top, LAST, ()))
            case (
                ast.Call(func=ast.Name(id="vars"), args=[owner]) | ast.Attribute(value=owner, attr="__dict__")
            ):
                return self.attributes(self.value(owner, place), key)
        return NOTHING

    def item(self, held: Values, index: int) -> Values:
        """What a sequence holds at a position."""
        found: set[Any] = set()
        for each in held:
            if isinstance(each, Items) and -len(each.parts) <= index < len(each.parts):
                found |= each.parts[index]
            elif not isinstance(each, Items):
                found |= self.elements(frozenset([each]))
        return frozenset(found)

    def elements(self, held: Values) -> Values:
        """Whatever a container holds."""
        found: set[Any] = set()
        for each in held:
            if isinstance(each, Items):
                found |= frozenset().union(*each.parts)
            elif isinstance(each, Many | Keys):
                found |= each.inner
            elif isinstance(each, Dead):
                found |= {Dead(inner, each.why) for inner in self.elements(frozenset([each.value]))}
        return frozenset(found)
