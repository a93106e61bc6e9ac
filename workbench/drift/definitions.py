"""Where a dotted name of a library leads: to functions and classes, to nothing, or to something nobody can read."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .evaluate import Evaluator
from .importable import Importable
from .syntax import Module, Place, Scope
from .tree import Tree
from .values import Constant, Dead, Local, LocalClass, Made, Name, Partial, Wrapped
from .world import World


@dataclass(frozen=True)
class Absent:
    """The name is not there."""

    why: str


@dataclass(frozen=True)
class Opaque:
    """It is there, or may be, and cannot be read: no function, or made at run time. `foreign`: of another package."""

    why: str
    foreign: bool = False


@dataclass(frozen=True)
class Definition:
    """`value` is the function or class as it was found, `dotted` where it is defined."""

    dotted: str
    value: Any

    @property
    def is_class(self) -> bool:
        return isinstance(self.value, LocalClass)


Found = tuple[Definition, ...] | Absent | Opaque


class Library:
    """A release as callers see it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.world = World(tree)
        self.ev = Evaluator(self.world)
        self._found: dict[str, Found] = {}
        self.broken = Importable(tree, self.world).broken

    @cached_property
    def tops(self) -> set[str]:
        """The names that are imported: flashinfer, triton_kernels."""
        return set(self.tree.packages()) or {name.split(".")[0] for name in self.world.files}

    def has(self, dotted: str) -> bool:
        return dotted.split(".")[0] in self.tops

    def is_class(self, dotted: str) -> bool:
        found = self.find(dotted)
        return isinstance(found, tuple) and any(each.is_class for each in found)

    def find(self, dotted: str) -> Found:
        if dotted not in self._found:
            self._found[dotted] = self._find(dotted)
        return self._found[dotted]

    def _find(self, dotted: str) -> Found:
        module, rest = self.world.split(dotted)
        if not module:
            return Absent(f"no module {dotted.split('.')[0]}")
        if broken := self.broken(module):
            return Absent(broken)
        if module in self.world.compiled:
            return Opaque(f"{module} is compiled")
        if not rest:
            shown = [each for each in self.ev.imported(module) if isinstance(each, Local | LocalClass)]
            return self._definitions(frozenset(shown), dotted) if shown else Opaque("a module")
        values: frozenset[Any] = frozenset([Name(module)])
        for position, part in enumerate(rest):
            held = values
            values = frozenset(
                each for each in self.ev.attributes(held, part) if not isinstance(each, Constant)
            )
            modules = [
                each.dotted for each in held if isinstance(each, Name) and self.world.is_module(each.dotted)
            ]
            if not values:
                return self._nothing(held, part, modules, dotted, last=position == len(rest) - 1)
        return self._definitions(values, dotted)

    def _nothing(self, held: frozenset[Any], part: str, modules: list[str], dotted: str, last: bool) -> Found:
        if part.startswith("__") or any(isinstance(each, Local) for each in held):
            return Opaque(f"{part}: an attribute of what is there", foreign=True)
        for name in modules:
            module = self.world.find(name)
            if module and part in module.top.bindings:
                return Opaque(f"{part} is no function or class that can be read")
            if module and (lazy := self._lazily(module, part)):
                return lazy
            return Absent(f"{name} has no {part}")
        for each in held:
            if isinstance(each, LocalClass | Made):
                cls = each.cls if isinstance(each, Made) else each
                if isinstance(cls, LocalClass):
                    return self._no_member(cls, part)
        return Opaque(f"{part} of {dotted} cannot be followed")

    def _no_member(self, cls: LocalClass, part: str) -> Found:
        if part in cls.inner.bindings or part in cls.inner.attributes or part.startswith("__"):
            return Opaque(f"{part} is no method that can be read")
        if not self._bases_known(cls) or "__getattr__" in cls.inner.bindings:
            return Opaque(f"{cls.qualname} may have {part} from a base class that is not of this package")
        return Absent(f"{cls.module}.{cls.qualname} has no {part}")

    def _bases_known(self, cls: LocalClass) -> bool:
        known = self.ev.bases(cls)
        plain = all(
            isinstance(each, ast.Name) and each.id in ("object", "ABC", "Generic") for each in cls.node.bases
        )
        local = [each for each in known if isinstance(each, LocalClass)]
        return (plain or len(local) == len(cls.node.bases)) and all(self._bases_known(each) for each in local)

    def _lazily(self, module: Module, part: str) -> Found | None:
        """Through a module's own __getattr__: looked for in the modules that it imports from."""
        scope = next((each for each in module.scopes.values() if each.qualname == "__getattr__"), None)
        if scope is None:
            return None
        for bindings in scope.bindings.values():
            for binding in bindings:
                if binding.how == "import" and (found := self.ev.attributes(self.ev.bound(binding), part)):
                    return self._definitions(found, f"{module.name}.{part}")
        named = re.search(rf"['\"]{re.escape(part)}['\"]", module.text)
        return Opaque(f"{part} is made when it is asked for") if named else None

    def _definitions(self, values: frozenset[Any], dotted: str) -> Found:
        found: dict[str, Definition] = {}
        doubts = []
        foreign = False
        for each in values:
            while isinstance(each, Wrapped | Dead):
                each = each.value
            if isinstance(each, Local | LocalClass):
                key = f"{each.module}.{each.qualname}:{each.node.lineno}"
                found[key] = Definition(f"{each.module}.{each.qualname}", each)
            elif isinstance(each, Partial):
                doubts.append(f"{dotted} is a functools.partial")
            elif isinstance(each, Name):
                outside = not self.world.is_module(each.dotted)
                foreign |= outside
                place = f"{each.dotted}, of another package" if outside else "a module"
                doubts.append(f"{dotted} is {place}")
        if found:
            return tuple(found[key] for key in sorted(found))
        return Opaque(doubts[0] if doubts else f"{dotted} is no function or class that can be read", foreign)


def place_of(value: Local | LocalClass) -> Place:
    """Where its decorators are evaluated."""
    inner: Scope = value.inner
    return Place(value.scope, inner.order, inner.path)
