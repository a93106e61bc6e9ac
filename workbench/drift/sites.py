"""Every use of the library in one file of a consumer: calls, and imports, reads and patches of what is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .asking import test_before
from .forwarding import DEEPEST, forwards, through, unwrapped
from .guards import guard_of
from .handing import arguments
from .reads import Reads, Site
from .syntax import Module, Use
from .values import NOTHING, Arguments, Closure, Dead, Local, Made, Name
from .verdict import BREAKS, MISSING, NEITHER, OK, SHIFTS, UNKNOWN, Verdict, judge


class Reader(Reads):
    """Reads one file after another."""

    def sites(self, module: Module) -> Iterator[Site]:
        for each in module.imports:
            if (verdict := self._import(each)) and self.old.has(each.dotted):
                yield self._site(module, each.node, each.dotted, verdict)
        spent: set[int] = set()
        for use in module.calls:
            spent.add(id(use.node.func))  # type: ignore[attr-defined]
            yield from self._call(module, use)
        for use in module.reads:
            if id(use.node) not in spent:
                yield from self._read(module, use, "reads")
        for use in module.writes:
            yield from self._read(module, use, "assigns to")

    def _call(self, module: Module, use: Use) -> Iterator[Site]:
        node: Any = use.node
        if self._skipped(use.place):
            return
        yield from self._by_text(module, use)
        values = self.ev.value(node.func, use.place)
        given = arguments(self.ev, node, use.place)
        rows: dict[str, list[tuple[Verdict, bool]]] = {}
        for value in values:
            for dotted, verdict, live in self._followed(value, given, use, 0):
                rows.setdefault(dotted, []).append((verdict, live))
        rows = _meant(rows)
        living = any(live for found in rows.values() for _, live in found)
        for dotted, found in sorted(rows.items()):
            kept = [verdict for verdict, live in found if live or not living]
            for verdict in sorted(set(kept)):
                yield self._site(module, node, dotted, verdict)
        yield from self._handed_on(module, use, bool(rows))

    def _followed(
        self, value: Any, given: Arguments, use: Use, depth: int, note: str = ""
    ) -> Iterator[tuple[str, Verdict, bool]]:
        why = ""
        value, given, by = unwrapped(value, given)
        while isinstance(value, Dead):
            why = why or value.why
            value, given, more = unwrapped(value.value, given)
            by = by or more
        if isinstance(value, Made) and depth < DEEPEST:  # calling an instance
            for each in self.ev.attribute(value, "__call__"):
                yield from self._followed(each, given, use, depth + 1, note)
            return
        if isinstance(value, Name) and self.old.has(value.dotted):
            if any(getattr(library.find(value.dotted), "foreign", False) for library in (self.old, self.new)):
                return
            yield value.dotted, self._verdict(value, given, use, by, note, why), not why
        elif isinstance(value, Local | Closure) and depth < DEEPEST:
            held = dict(value.held) if isinstance(value, Closure) else {}
            value = value.function if isinstance(value, Closure) else value
            for each in forwards(self.ev, value):
                inner = through(each, value, given)
                text = note or f"through {value.qualname} (line {each.line} of {value.inner.module.file})"
                for target in each.values or held.get(each.name, NOTHING):
                    yield from self._followed(target, inner, use, depth + 1, text)

    def _verdict(self, value: Name, given: Arguments, use: Use, by: str, note: str, dead: str) -> Verdict:
        verdict, detail = judge(given, value.dotted, self.old, self.new)
        unreached = dead or self.failing.unreached(use.place)
        if verdict == MISSING:
            detail += self._guards(use.place)
            hidden = re.search(r"; the guard at line \d+ hides it", dead)
            detail += hidden[0] if hidden and hidden[0] not in detail else ""
        elif unreached:
            alone = (
                "" if verdict == OK else f"; by itself it {verdict}: {detail}" if verdict != UNKNOWN else ""
            )
            verdict, detail = MISSING, unreached + alone
        elif by and verdict in (BREAKS, SHIFTS):
            verdict, detail = (
                UNKNOWN,
                f"called through {by}, which may change what is handed on; else {verdict}: {detail}",
            )
        elif verdict == BREAKS:
            verdict, detail = self._tested(use, detail)
        return verdict, f"{note}: {detail}" if note and detail else note or detail

    def _tested(self, use: Use, detail: str) -> Verdict:
        """A call that is only made where a test of the library's signature or version lets it."""
        if test := test_before(use.node, use.place):
            where = f"behind a test at line {test.lineno} ({ast.unparse(test.test)[:60]})"
            return UNKNOWN, f"{where}; if it is made: {detail}"
        line, _ = guard_of(use.place.path, {"TypeError", "Exception", "BaseException"})
        return BREAKS, f"{detail}; caught at line {line}" if line is not None else detail

    def _handed_on(self, module: Module, use: Use, known: bool) -> Iterator[Site]:
        """The function itself is an argument: whoever gets it makes the calls."""
        node: Any = use.node
        name = ast.unparse(node.func)
        if (
            known
            or name.startswith("inspect.")
            or name in ("getattr", "hasattr", "setattr", "print", "staticmethod")
            or "partial" in name
            or "wraps" in name
            or any(self._calls(each) for each in self.ev.value(node, use.place))
        ):
            return
        changed = UNKNOWN, f"handed to {name[:60]}, whose calls are not followed; its parameters changed"
        for argument in (*node.args, *(word.value for word in node.keywords)):
            if isinstance(argument, ast.Name | ast.Attribute):
                for value in self.ev.value(argument, use.place):
                    if isinstance(value, Name) and self._has_other_parameters(value.dotted):
                        yield self._site(module, node, value.dotted, changed)

    def _has_other_parameters(self, dotted: str) -> bool:
        if not self.old.has(dotted):
            return False
        verdict, detail = judge(Arguments(star=0, open=True), dotted, self.old, self.new)
        return verdict == UNKNOWN and "spread" in detail

    def _calls(self, made: Any) -> bool:
        """Whether calls of it lead to what was handed over, so that each of them gets a verdict."""
        if isinstance(made, Closure):
            held = dict(made.held)
            return any(each.name in held for each in forwards(self.ev, made.function))
        return isinstance(made, Name)


def _meant(rows: dict[str, list[tuple[Verdict, bool]]]) -> dict[str, list[tuple[Verdict, bool]]]:
    """Of several that a name may be, those that the call fits at its own pin, if it fits one."""
    fitting = {
        dotted: found
        for dotted, found in rows.items()
        if not all(NEITHER in verdict[1] for verdict, _ in found)
    }
    return fitting or rows
