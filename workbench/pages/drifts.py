"""Drift that was stored (`workbench drift --save DIR`), as tables of a page: nothing is read but that file."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.showing.tables import block, table, text_table
from workbench.strict_json import json_in
from workbench.untrusted import MESSAGE, escaped, plain

Row = dict[str, Any]
APART = ("pins_changed", "claims_changed", "kernel_source_changed", "kernel_source_identical")
"""Changes with a table of their own; all others are of functions and their parameters."""
MOST = 200  # rows of one table


def file_of(folder: Path | str, before: str, after: str) -> Path:
    """Where the drift from one release to another is kept, such as flashinfer-0.6.8.post1-to-flashinfer-0.6.9.json."""
    names = (re.sub(r"[^a-z0-9.]+", "-", plain(each).lower()).strip("-.") for each in (before, after))
    return Path(folder) / f"{'-to-'.join(names)}.json"


@dataclass(frozen=True)
class Shown:
    """A table that shows itself; `nothing` is said where it has no rows."""

    caption: str
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    nothing: str

    def __repr__(self) -> str:
        if not self.rows:
            return plain(self.nothing, MESSAGE)
        cells = [[plain(entry, MESSAGE) for entry in row] for row in self.rows[:MOST]]
        return "\n".join([plain(self.caption, MESSAGE), text_table(self.heads, cells), *self._left_out()])

    def _repr_html_(self) -> str:
        if not self.rows:
            return block(f"<p>{escaped(self.nothing, MESSAGE)}</p>")
        cells = [[escaped(entry, MESSAGE) for entry in row] for row in self.rows[:MOST]]
        left_out = "".join(f"<p>{each}</p>" for each in self._left_out())
        return block(table(self.caption, self.heads, cells), left_out)

    def _left_out(self) -> list[str]:
        more = len(self.rows) - MOST
        return [f"and {more} more rows; the stored file has all"] if more > 0 else []


@dataclass(frozen=True)
class Drift:
    """The changes from `before` to `after`, as stored in `folder`; tables for a page."""

    folder: str
    before: str
    after: str

    @cached_property
    def changes(self) -> list[Row]:
        """Empty where none is stored; `nothing` says so. Raises ValueError for a file that is no drift."""
        file = file_of(self.folder, self.before, self.after)
        found = json_in(file) if file.is_file() else []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ValueError(f"{file.name} is no list of changes; workbench drift --save writes one")
        return found

    @property
    def nothing(self) -> str:
        if self.changes:
            return "No difference."
        made = ", ".join(sorted(file.stem for file in Path(self.folder).glob("*.json"))) or "none"
        command = " ".join(f"--{way} {name.replace(' ', '==')}" for way, name in self._ways())
        return f"Nothing is stored of it. Make it: workbench drift {command} --save DIR. Stored are: {made}."

    def of(self, functions: Sequence[str]) -> Shown:
        """Each change of these functions, by their names or the ends of them."""
        rows = self._rows(lambda each: any(_named(each, name) for name in functions))
        return self._shown("what happened to the functions our kernels call", rows)

    def counts(self, functions: Sequence[str] = ()) -> Shown:
        """How often each kind of change occurs in all other functions."""
        rest = [
            each
            for each in self.changes
            if each.get("change") not in APART and not any(_named(each, name) for name in functions)
        ]
        counted = Counter(str(each.get("change")) for each in rest)
        rows = [(change.replace("_", " "), str(count)) for change, count in counted.most_common()]
        return Shown(f"{self._title}: the other functions", ("change", "how often"), rows, self.nothing)

    def pins(self) -> Shown:
        return self._shown("requirements", self._rows(lambda each: each.get("change") == "pins_changed"))

    def claims(self) -> Shown:
        rows = self._rows(lambda each: each.get("change") == "claims_changed")
        return self._shown("what it says it supports, by backend and SM", rows)

    def sources(self) -> Shown:
        rows = self._rows(lambda each: str(each.get("change")).startswith("kernel_source"))
        return self._shown("kernel sources, byte for byte", rows)

    @property
    def _title(self) -> str:
        return f"{self.before} to {self.after}"

    def _ways(self) -> tuple[tuple[str, str], tuple[str, str]]:
        return ("from", self.before), ("to", self.after)

    def _rows(self, wanted: Callable[[Row], bool]) -> list[tuple[str, ...]]:
        return [_row(each) for each in self.changes if wanted(each)]

    def _shown(self, what: str, rows: list[tuple[str, ...]]) -> Shown:
        heads = ("function", "change", "parameter", "place", "what")
        used = [place for place in range(len(heads)) if any(row[place] for row in rows)]
        cut = [tuple(row[place] for place in used) for row in rows]
        return Shown(f"{self._title}: {what}", tuple(heads[place] for place in used), cut, self.nothing)


def _named(row: Row, name: str) -> bool:
    function = str(row.get("function"))
    return row.get("change") not in APART and (function == name or function.endswith(f".{name}"))


def _row(each: Row) -> tuple[str, ...]:
    """Places are counted from 0, as a call passes them."""
    places = [str(each[name]) for name in ("index_from", "index_to") if each.get(name) is not None]
    change = str(each.get("change", "")).replace("_", " ")
    return (
        str(each.get("function", "")), change, str(each.get("parameter", "")), " to ".join(dict.fromkeys(places)),
        str(each.get("detail", "")),
    )  # fmt: skip
