"""What stacks pin and what they got, and how two of them differ: tables that show themselves in a page."""

from dataclasses import dataclass
from typing import Any

from workbench.difference import difference, difference_text, lock_text, locks_of, newest
from workbench.results import Results
from workbench.showing.tables import block, prose, table
from workbench.untrusted import escaped, natural, plain

ONLY_FLASHINFER = {"flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache"}


@dataclass(frozen=True)
class Pins:
    """The pins of each stack in the results: declared, found, met or not."""

    results: Results

    @property
    def locks(self) -> dict[str, Any]:
        found = locks_of(self.results)
        return {name: found[name] for name in sorted(found, key=natural) if found[name].get("pins")}

    def __repr__(self) -> str:
        return "\n\n".join(map(lock_text, self.locks.values())) or _none("a stack, such as sglang==0.5.12")

    def _repr_html_(self) -> str:
        if not self.locks:
            return block(f"<p>{prose(repr(self))}</p>")
        heads = ("package", "pinned", "found", "from", "state")
        return block(
            *(table(f"{plain(name)}: pins", heads, _pins(lock)) for name, lock in self.locks.items())
        )


@dataclass(frozen=True)
class Difference:
    """Which packages another environment has in another version, by the newest locks of the results."""

    results: Results
    before: str
    after: str

    @property
    def _pair(self) -> tuple[Any, Any] | None:
        found = locks_of(self.results)
        before, after = newest(found, self.before), newest(found, self.after)
        return (before, after) if before is not None and after is not None else None

    @property
    def question(self) -> str:
        """What a comparison of the two can speak about: FlashInfer alone, or the stacks as a whole."""
        names = {row.package for row in difference(*self._pair)} if self._pair else set()
        if not names:
            return "nothing differs"
        if names <= ONLY_FLASHINFER:
            return "only FlashInfer changed"
        return "more than FlashInfer changed: the two stacks are compared as their users get them"

    def __repr__(self) -> str:
        if not self._pair:
            return _none(f"{plain(self.before)} and {plain(self.after)}")
        return f"{difference_text(*self._pair)}\n{self.question}"

    def _repr_html_(self) -> str:
        if not self._pair:
            return block(f"<p>{prose(repr(self))}</p>")
        before, after = (str(lock["name"]) for lock in self._pair)
        heads = ("package", escaped(before), escaped(after), "kind", "where")
        rows = [
            [*map(escaped, (row.package, row.before or "-", row.after or "-", row.kind, row.where))]
            for row in difference(*self._pair)
        ]
        caption = f"{plain(before)} to {plain(after)}: {self.question}"
        return block(table(caption, heads, rows))


def _pins(lock: Any) -> list[list[str]]:
    pins = lock["pins"] if isinstance(lock["pins"], dict) else {}
    fields = ("pinned", "has", "from", "state")
    return [
        [escaped(name), *(escaped(plain(pin.get(field, "")) or "-") for field in fields)]
        for name, pin in pins.items()
        if isinstance(pin, dict)
    ]


def _none(what: str) -> str:
    return f"No results of {what} yet: `workbench run --environment ...` measures."
