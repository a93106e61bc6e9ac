"""Names: what a binding, or those that reach a place, make of one."""

from __future__ import annotations

import ast
from typing import Any

from . import calling
from .members import Members
from .syntax import Binding, Module, Path, Place, Scope, reaching
from .values import CALLABLE, NOTHING, Dead, Keys, Local, LocalClass, Made, Many, Name, Values


class Names(Members):
    """What a name is at a place."""

    def name(self, name: str, place: Place) -> Values:
        scope: Scope | None = place.scope
        order, path = place.order, place.path
        while scope:
            bindings = scope.bindings.get(name)
            if bindings and (scope is place.scope or scope.kind != "class"):
                seen = reaching(bindings, order, path)
                return frozenset().union(*(self._seen(each, path) for each in seen))
            scope, order, path = scope.parent, 1 << 60, ()
        return self._from_stars(name, place.scope.module)

    def _seen(self, binding: Binding, path: Path) -> Values:
        """A key that is set on the way to the use is surely there."""
        key = binding.value
        if (
            binding.how == "key"
            and isinstance(key, ast.Constant)
            and binding.place.path == path[: len(binding.place.path)]
        ):
            return frozenset([Keys((str(key.value),), added=True)])
        return self.bound(binding)

    def _from_stars(self, name: str, module: Module) -> Values:
        for star in module.stars:
            found = self.attributes(frozenset([Name(star.dotted)]), name)
            if found and found != frozenset([Name(f"{star.dotted}.{name}")]):
                return found
            if star.dotted.split(".")[0] not in {each.split(".")[0] for each in self.world.files}:
                return found
        return NOTHING

    def bound(self, binding: Binding) -> Values:
        """What a name is after this binding."""
        found = self._once(("bound", id(binding)), lambda: self._bound(binding))
        why = self.dead(binding)
        return frozenset(Dead(each, why) for each in found) if why else found

    def _bound(self, binding: Binding) -> Values:
        place, node = binding.place, binding.value
        match binding.how:
            case "import":
                return self.imported(binding.dotted)
            case "def" | "class":
                return self._defined(binding)
            case "value":
                return self.value(node, place)
            case "item":
                return self.item(self.value(node, place), binding.index)
            case "each":
                return self.elements(self.value(node, place))
            case "each item":
                return self.item(self.elements(self.value(node, place)), binding.index)
            case "append":
                return frozenset([Many(self.value(node, place))])
            case "extend":
                return frozenset([Many(self.elements(self.value(node, place)))])
            case "key":
                return (
                    frozenset([Keys((), NOTHING, (str(node.value),))])
                    if isinstance(node, ast.Constant)
                    else NOTHING
                )
            case "annotated" | "parameter":
                return self._parameter(binding)
        return NOTHING

    def _parameter(self, binding: Binding) -> Values:
        scope = binding.place.scope
        if isinstance(binding.node, ast.arg) and binding.node.arg == scope.self_name and scope.parent:
            return frozenset([Made(self.local_class(scope.parent))])
        place = binding.place
        if binding.how == "parameter" and scope.parent:
            place = Place(scope.parent, scope.order, scope.path)
        default = self.value(binding.default, place)
        called = frozenset(each for each in default if isinstance(each, CALLABLE))
        return calling.annotated(self, binding.value, place) | called

    def _defined(self, binding: Binding) -> Values:
        scope = binding.place.scope.module.scopes[id(binding.node)]
        made: Any = self.local_class(scope) if binding.how == "class" else self.local(scope)
        for decorator in reversed(getattr(binding.node, "decorator_list", [])):
            if isinstance(decorator, ast.Name) and decorator.id == "property":
                return self.returned(made)
        return frozenset([made])

    def local(self, scope: Scope, bound: bool = False) -> Local:
        key = (id(scope), bound)
        if key not in self._locals:
            owner = scope.parent if scope.parent and scope.parent.kind == "class" else None
            self._locals[key] = Local(
                scope.module.name, scope.qualname, scope.node, scope.parent, scope,  # type: ignore[arg-type]
                self.local_class(owner) if owner else None, bound,
            )  # fmt: skip
        return self._locals[key]

    def local_class(self, scope: Scope) -> LocalClass:
        key = (id(scope), False)
        if key not in self._locals:
            self._locals[key] = LocalClass(scope.module.name, scope.qualname, scope.node, scope.parent, scope)  # type: ignore[arg-type]
        return self._locals[key]

    def returned(self, function: Local) -> Values:
        """What it may return, whoever calls it."""
        return self._once(("returned", id(function.inner)), lambda: calling.returns(self, function))
