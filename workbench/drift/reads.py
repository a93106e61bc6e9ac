"""Imports, attribute reads and patches of names that are gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from .asking import test_before
from .definitions import Absent, Library
from .evaluate import Evaluator
from .failing import Failing
from .guards import guard_of
from .syntax import Binding, Import, Module, Place, Use
from .values import Constant, Dead, Made, Name, Partial
from .verdict import ALREADY, MISSING, NEITHER, OK, UNKNOWN, Verdict

ATTRIBUTES = (
    "getattr",
    "setattr",
    "delattr",
    "object",
)  # of what is held; `object` as in mock's patch.object
DOTTED = ("patch", "setattr", "import_module", "resolve_name")  # take a whole dotted name as text


@dataclass(frozen=True)
class Site:
    """One use: `file` and `line` in the consumer, `function` by the name that it is reached by."""

    file: str
    line: int
    function: str
    verdict: str
    detail: str = ""

    @property
    def was_so(self) -> bool:
        """Whether the version that the consumer was written for is no better."""
        return ALREADY in self.detail or NEITHER in self.detail

    def facts(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Reads:
    """`failing` is of the new version."""

    ev: Evaluator
    old: Library
    new: Library
    failing: Failing

    def _site(self, module: Module, node: Any, function: str, verdict: Verdict) -> Site:
        return Site(module.file, node.lineno, function, *verdict)

    def _import(self, each: Import) -> Verdict | None:
        if (
            not self.old.has(each.dotted)
            or self.failing.skipped(each.place)
            or not (why := self.failing.why(each))
        ):
            return None
        before = Failing(self.failing.world, self.old).why(each)
        already = f"; {ALREADY} {self.old.tree.version}" if before else ""
        guard, _ = guard_of(each.place.path, {"ImportError", "Exception", "BaseException"}, each.whole)
        if guard is not None and self._replaced(each):
            return OK, f"{why}; the guard at line {guard} takes another one of {self.new.tree.name}"
        test = test_before(each.node, each.place)
        hidden = f"; the test at line {test.lineno} hides it" if test else "; ImportError"
        hidden = f"; the guard at line {guard} hides it" if guard is not None else hidden
        return MISSING, why + hidden + already

    def _replaced(self, each: Import) -> bool:
        """The guard gets the same name from elsewhere in the library, where it is."""
        alias = next((a.asname or a.name for a in each.node.names if each.dotted.endswith(a.name)), "")
        bindings: list[Binding] = each.place.scope.bindings.get(alias, [])
        return any(
            other.how == "import" and other.node is not each.node and self.new.has(other.dotted)
            and not isinstance(self.new.find(other.dotted), Absent)
            for other in bindings
        )  # fmt: skip

    def _read(self, module: Module, use: Use, verb: str) -> Iterator[Site]:
        """An attribute of something of the library, or of an instance of one of its classes."""
        node: Any = use.node
        for held in self.ev.value(node.value, use.place):
            while isinstance(held, Dead | Made | Partial):
                held = _inner(held)
            if isinstance(held, Name) and self.old.has(held.dotted):
                yield from self._gone(module, node, f"{held.dotted}.{node.attr}", verb, use.place)

    def _gone(
        self, module: Module, node: Any, dotted: str, verb: str, place: Place, hides: str = ""
    ) -> Iterator[Site]:
        if not self.old.has(dotted) or self._skipped(place):
            return
        found = self.new.find(dotted)
        if isinstance(found, Absent) and not isinstance(self.new.find(dotted.rpartition(".")[0]), Absent):
            already = (
                f"; {ALREADY} {self.old.tree.version}" if isinstance(self.old.find(dotted), Absent) else ""
            )
            detail = f"{verb} it: {found.why}{hides or self._guards(place)}{already}"
            yield self._site(module, node, dotted, (MISSING, detail))

    def _skipped(self, place: Place) -> bool:
        return self.failing.skipped(place)

    def _guards(self, place: Place) -> str:
        line, _ = guard_of(place.path, {"AttributeError", "Exception", "BaseException"})
        tested = [
            node for node, _ in place.path if isinstance(node, ast.If) and "hasattr" in ast.unparse(node.test)
        ]
        if line is not None:
            return f"; the guard at line {line} hides it"
        return f"; the test at line {tested[-1].lineno} hides it" if tested else ""

    def _by_text(self, module: Module, use: Use) -> Iterator[Site]:
        """Names given as text: getattr, setattr and the patches of tests."""
        node: Any = use.node
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        texts = [
            each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        name = getattr(node.args[1], "value", None) if len(node.args) >= 2 else None
        if called in ATTRIBUTES and isinstance(name, str) and not isinstance(node.args[0], ast.Constant):
            yield from self._attribute(module, use, called, name)
        elif called in DOTTED and texts and self.old.has(texts[0]):
            verb = "imports" if called == "import_module" else "patches"
            yield from self._gone(module, node, texts[0].replace(":", "."), verb, use.place)
        elif called == "getattr" and len(node.args) >= 2:
            yield from self._computed(module, use)

    def _attribute(self, module: Module, use: Use, called: str, name: str) -> Iterator[Site]:
        """`getattr(held, "name")` and its like."""
        node: Any = use.node
        hides = "; the default hides it" if called == "getattr" and len(node.args) > 2 else ""
        verb = {"getattr": "reads", "delattr": "deletes"}.get(called, "patches")
        for held in self.ev.value(node.args[0], use.place):
            held = held.cls if isinstance(held, Made) else held
            if isinstance(held, Name):
                yield from self._gone(module, node, f"{held.dotted}.{name}", verb, use.place, hides)

    def _computed(self, module: Module, use: Use) -> Iterator[Site]:
        """`getattr(held, name)` with a name that nobody can tell by reading."""
        node: Any = use.node
        names = self.ev.value(node.args[1], use.place)
        if any(isinstance(each, Constant) for each in names):
            return
        unknown = UNKNOWN, f"getattr by a computed name: {ast.unparse(node.args[1])[:60]}"
        for held in self.ev.value(node.args[0], use.place):
            if isinstance(held, Name) and self.old.has(held.dotted):
                yield self._site(module, node, held.dotted, unknown)


def _inner(held: Dead | Made | Partial) -> Any:
    if isinstance(held, Dead):
        return held.value
    return held.cls if isinstance(held, Made) else held.callee


def top_reads(module: Module, ev: Evaluator, library: Library) -> list[tuple[Place, str]]:
    """Attributes that are gone and are read while the module is imported."""
    found = []
    for use in module.reads:
        node: Any = use.node
        for held in ev.value(node.value, use.place) if use.place.scope is module.top else ():
            if (
                isinstance(held, Name)
                and library.has(held.dotted)
                and not isinstance(library.find(held.dotted), Absent)
            ):
                absent = library.find(f"{held.dotted}.{node.attr}")
                if isinstance(absent, Absent):
                    found.append((use.place, f"line {node.lineno}: {absent.why}"))
    return found
