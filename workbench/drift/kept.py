"""What every part of the evaluator shares: the modules, the hooks, and answers that are kept."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .syntax import Binding, Module, Place, Scope
from .values import NOTHING, Local, Values
from .world import World

DEEPEST = 120


class Kept:
    """`is_class` says whether a name of another package is a class; `dead` why a binding is never reached."""

    def __init__(
        self,
        world: World,
        is_class: Callable[[str], bool] = lambda dotted: False,
        dead: Callable[[Binding], str] = lambda binding: "",
    ) -> None:
        self.world, self.is_class, self.dead = world, is_class, dead
        self._busy: set[object] = set()
        self._known: dict[object, Values] = {}
        self._locals: dict[tuple[int, bool], Any] = {}

    def _once(self, key: object, work: Callable[[], Values]) -> Values:
        """Found once and kept; in a circle of definitions the member that is asked for again adds nothing."""
        if key in self._known:
            return self._known[key]
        if key in self._busy or len(self._busy) > DEEPEST:
            return NOTHING
        self._busy.add(key)
        try:
            self._known[key] = found = work()
        finally:
            self._busy.discard(key)
        return found

    def _from_stars(self, name: str, module: Module) -> Values:
        raise NotImplementedError

    def local(self, scope: Scope, bound: bool = False) -> Local:
        raise NotImplementedError

    def value(self, node: ast.AST | None, place: Place) -> Values:
        raise NotImplementedError

    def name(self, name: str, place: Place) -> Values:
        raise NotImplementedError

    def bound(self, binding: Binding) -> Values:
        raise NotImplementedError

    def item(self, held: Values, index: int) -> Values:
        raise NotImplementedError

    def elements(self, held: Values) -> Values:
        raise NotImplementedError
