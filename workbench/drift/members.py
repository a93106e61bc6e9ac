"""Attributes: of modules, classes and instances."""

from __future__ import annotations

from typing import Any

from .kept import Kept
from .syntax import Place, reaching
from .values import NOTHING, Dead, Local, LocalClass, Made, Name, Partial, Super, Values


class Members(Kept):
    """What follows a dot."""

    def attributes(self, values: Values, attribute: str) -> Values:
        return frozenset().union(*(self.attribute(each, attribute) for each in values))

    def attribute(self, value: Any, attribute: str) -> Values:
        match value:
            case Dead():
                return frozenset(Dead(each, value.why) for each in self.attribute(value.value, attribute))
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
                found |= self.bound(each)
            if every:
                return frozenset(self._bind(each) if bound else each for each in found)
        for base in self.bases(cls):
            inner = self.attribute(Made(base) if bound else base, attribute)
            if inner:
                return inner
        return NOTHING

    def bases(self, cls: LocalClass) -> list[Any]:
        place = Place(cls.scope, cls.inner.order, cls.inner.path)
        return [each for base in cls.node.bases for each in self.value(base, place) if each is not cls]

    def _bind(self, value: Any) -> Any:
        return self.local(value.inner, True) if isinstance(value, Local) and value.owner else value

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
