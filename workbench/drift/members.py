"""Attributes: of modules, classes and instances."""

from __future__ import annotations

import ast
from typing import Any

from .kept import Kept
from .syntax import Binding, Place, reaching
from .values import NOTHING, Arguments, Dead, Local, LocalClass, Made, Name, Partial, Super, Values

ITSELF = {"__call__", "__wrapped__", "__func__"}  # of a function
METHOD = Arguments(("self",))  # what a call through an instance adds


class Members(Kept):
    """What follows a dot."""

    def attributes(self, values: Values, attribute: str) -> Values:
        return frozenset().union(*(self.attribute(each, attribute) for each in values))

    def attribute(self, value: Any, attribute: str) -> Values:
        match value:
            case Dead():
                return frozenset(Dead(each, value.why) for each in self.attribute(value.value, attribute))
            case Name() | Local() if attribute in ITSELF and not self._a_class(value):
                return frozenset([value])
            case Made() if attribute == "__class__":
                return frozenset([value.cls])
            case Name():
                return self._of_name(value, attribute)
            case LocalClass():
                return self.class_attribute(value, attribute, False)
            case Made(cls=LocalClass()) | Super(cls=LocalClass()):
                start = value.cls
                return self.class_attribute(start, attribute, True, skip=isinstance(value, Super))
            case Made(cls=Name()):
                return frozenset([Name(f"{value.cls.dotted}.{attribute}", bound=True)])
            case Made(cls=Dead()):
                inner = self.attribute(Made(value.cls.value), attribute)
                return frozenset(Dead(each, value.cls.why) for each in inner)
            case Partial() if attribute == "func":
                return frozenset([value.callee])
            case Partial() if value.given == METHOD:
                return self.attribute(value.callee, attribute)
        return NOTHING

    def _of_name(self, value: Name, attribute: str) -> Values:
        if not self.world.is_module(value.dotted):
            return frozenset([Name(f"{value.dotted}.{attribute}", value.bound)])
        return self._once(("member", value.dotted, attribute), lambda: self._member(value.dotted, attribute))

    def _member(self, dotted: str, attribute: str) -> Values:
        module = self.world.find(dotted)
        if module:
            bindings = module.top.bindings.get(attribute, [])
            found = frozenset().union(*(self.bound(each) for each in reaching(bindings, 1 << 60, ())))
            found = found or (NOTHING if bindings else self._from_stars(attribute, module))
            if found:
                return self._rather_bound(found, f"{dotted}.{attribute}")
        deeper = f"{dotted}.{attribute}"
        return frozenset([Name(deeper)]) if self.world.is_module(deeper) else NOTHING

    def _rather_bound(self, found: Values, deeper: str) -> Values:
        """A package that takes a function out of its module of the same name shows the function."""
        others = found - {Name(deeper)}
        return others or found

    def class_attribute(self, cls: LocalClass, attribute: str, bound: bool, skip: bool = False) -> Values:
        """From the class itself, else from its bases in order."""
        if not skip:
            bindings = reaching(cls.inner.bindings.get(attribute, []), 1 << 60, ())
            found: set[Any] = set()
            every = [*bindings, *cls.inner.attributes.get(attribute, [])]
            for each in every:
                values = self.bound(each)
                found |= {self._bind(value, each) for value in values} if bound else values
            if every:
                return frozenset(found)
        for base in self.bases(cls):
            inner = self.attribute(Made(base) if bound else base, attribute)
            if inner:
                return inner
        return NOTHING

    def bases(self, cls: LocalClass) -> list[Any]:
        place = Place(cls.scope, cls.inner.order, cls.inner.path)
        return [each for base in cls.node.bases for each in self.value(base, place) if each is not cls]

    def _bind(self, value: Any, binding: Binding) -> Any:
        """As seen through an instance: what is a function in the class body gets self."""
        if isinstance(value, Local) and value.owner:
            return self.local(value.inner, True)
        plain = isinstance(value, Name) and not self._a_class(value)
        return Partial(value, METHOD) if plain and _gets_self(binding) else value

    def _a_class(self, value: Any) -> bool:
        return isinstance(value, Name) and (self.is_class(value.dotted) or self.world.is_module(value.dotted))

    def imported(self, dotted: str) -> Values:
        """A dotted name, followed through the modules at hand."""
        module, rest = self.world.split(dotted)
        if not module:
            return frozenset([Name(dotted)])
        values: Values = frozenset([Name(module)])
        if not rest and "." in module:  # a package may show a function by the name of its module
            values = self._of_name(Name(module.rpartition(".")[0]), module.rpartition(".")[2]) or values
        for part in rest:
            values = self.attributes(values, part)
        return values


def _gets_self(binding: Binding) -> bool:
    """Whether a function put into a class body is a method; those of a dataclass's fields are each instance's own."""
    cls = binding.place.scope.node
    if binding.how != "value" or not isinstance(cls, ast.ClassDef) or isinstance(binding.value, ast.Call):
        return False
    return not (isinstance(binding.node, ast.AnnAssign) and (cls.decorator_list or cls.bases))
