"""Which imports of a consumer fail against a version of the library, and what is never reached because of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .asking import asks
from .definitions import Absent, Library
from .guards import CATCHING, caught, guard_of, imported, imports_inside
from .syntax import Binding, Import, Module, Path, Place, Scope
from .world import World

NOWHERE: Any = None


@dataclass(frozen=True, eq=False)
class Region:
    """From a statement that fails to the end of what it takes along. `whole`: the module itself fails."""

    scope: Scope
    order: int
    path: Path
    why: str
    guard: int | None  # line of what hides it
    whole: bool

    def covers(self, place: Place) -> bool:
        inside = place.scope is self.scope and place.path[: len(self.path)] == self.path
        return inside and place.order >= self.order


class Failing:
    """For one version of the library; answers are kept."""

    def __init__(self, world: World, library: Library) -> None:
        self.world, self.library = world, library
        self._modules: dict[str, str] = {}
        self._regions: dict[int, list[Region]] = {}
        self.extra: dict[
            int, list[tuple[Place, str]]
        ] = {}  # attribute reads that fail while a module is imported

    def why(self, each: Import) -> str:
        """Why this import fails, "" if it does not."""
        if self.library.has(each.dotted):
            return self._of_library(each)
        return self._of_consumer(each)

    def _of_library(self, each: Import) -> str:
        module, rest = self.library.world.split(each.dotted)
        if (each.star or each.whole) and rest:
            return f"no module {each.dotted}"
        found = self.library.find(each.dotted)
        return found.why if isinstance(found, Absent) else self.library.broken(module)

    def _of_consumer(self, each: Import) -> str:
        module, _ = self.world.split(each.dotted)
        parts = module.split(".") if module else []
        for count in range(1, len(parts) + 1):
            if why := self._named(".".join(parts[:count])):
                return why
        return ""

    def _named(self, name: str) -> str:
        """Why a module of the consumer does not import, also one that never mentions the library."""
        file = self.world.files.get(name)
        found = self.world.find(name)
        if file is None:
            return ""
        if found:
            why = self.module(found)
            return why if not why or " does not import (" in why else f"{found.name} does not import ({why})"
        if file not in self._modules:
            self._modules[file] = ""
            wanted = imported(
                self.world.tree.read(file), name if file.endswith("__init__.py") else name.rpartition(".")[0]
            )
            reasons = (
                self._of_consumer(Import(each, ast.Import([]), NOWHERE))
                for each in wanted
                if not self.library.has(each)
            )
            self._modules[file] = next((why for why in reasons if why), "")
        return self._modules[file]

    def module(self, module: Module) -> str:
        """Why importing this module of the consumer fails as a whole."""
        if module.file not in self._modules:
            self._modules[module.file] = ""  # an import cycle is not a failure
            whole = [each for each in self.regions(module) if each.whole]
            self._modules[module.file] = whole[0].why if whole else ""
        return self._modules[module.file]

    def regions(self, module: Module) -> list[Region]:
        key = id(module)
        if key not in self._regions:
            self._regions[key] = []
            found = [
                self._region(each.place, each.node, why)
                for each in module.imports
                if (why := self._failing(each))
            ]
            found += [self._region(place, None, why) for place, why in self.extra.get(key, [])]
            self._regions[key] = found
        return self._regions[key]

    def _failing(self, each: Import) -> str:
        if self.skipped(each.place):
            return ""
        why = self.why(each)
        return f"line {each.node.lineno}: {why}" if why else ""

    def _region(self, place: Place, node: Any, why: str) -> Region:
        catches = CATCHING if node is not None else {"AttributeError", "Exception", "BaseException"}
        guard, depth = guard_of(place.path, catches, isinstance(node, ast.Import))
        if guard is not None:
            return Region(
                place.scope,
                place.order,
                place.path[: depth + 1] if depth + 1 == len(place.path) else place.path,
                why,
                guard,
                False,
            )
        path = place.path
        while path and self._certain(*path[-1], place):
            path = path[:-1]
        return Region(place.scope, place.order, path, why, None, place.scope.kind == "module" and not path)

    def _certain(self, node: ast.AST, branch: str, place: Place) -> bool:
        """A block that is passed wherever the library is there, whatever its version."""
        if isinstance(node, ast.If) and branch == "body":
            named = any(top in ast.unparse(node.test) for top in self.library.tops)
            return named and not asks(node.test, place)
        if not isinstance(node, ast.Try):
            return False
        return branch in ("body", "orelse") or any(
            self.why(each) for each in imports_inside(node, place.scope.module)
        )

    def skipped(self, place: Place) -> bool:
        """In a handler for imports that do not fail here, or under TYPE_CHECKING."""
        for node, branch in place.path:
            if (
                isinstance(node, ast.If)
                and "TYPE_CHECKING" in ast.unparse(node.test)
                and (branch == "body") != ast.unparse(node.test).startswith("not ")
            ):
                return True
            if isinstance(node, ast.Try) and branch.startswith("handler"):
                handler = next((each for each in node.handlers if branch == f"handler {each.lineno}"), None)
                if handler and caught(handler) & (CATCHING | {"ModuleNotFoundError"}):
                    inside = imports_inside(node, place.scope.module)
                    here = all(self.library.has(each.dotted) for each in inside)
                    if inside and here and not any(self.why(each) for each in inside):
                        return True
        return False

    def dead(self, binding: Binding) -> str:
        """Why what this binding gives is never there, "" if it is. For modules that fail as a whole, too."""
        for region in self.regions(binding.place.scope.module):
            if region.covers(binding.place):
                return said(region)
        return "not taken: what stands before it works" if self.skipped(binding.place) else ""

    def unreached(self, place: Place) -> str:
        """Why a place is never reached: it, or a scope around it, lies behind an import that fails."""
        module = place.scope.module
        if why := self.module(module):
            return f"its module does not import: {why}"
        at: Place | None = place
        while at:
            for region in self.regions(module):
                if region.covers(at):
                    return said(region)
            scope = at.scope
            at = Place(scope.parent, scope.order, scope.path) if scope.parent else None
        return ""


def said(region: Region) -> str:
    hidden = f"; the guard at line {region.guard} hides it" if region.guard else ""
    return f"never reached, {region.why}{hidden}"
