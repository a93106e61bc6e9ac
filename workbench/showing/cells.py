"""Entries of a table that are more than text on a page: an outcome on its colour, links to sources.

The rule: an entry is its plain text wherever there is no page; a link is https, or no link.
"""

import re
from collections.abc import Iterable
from typing import Self

from workbench.results import Outcome
from workbench.untrusted import MESSAGE, escaped, plain

GITHUB = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")  # owner/repository#number
LONG_NAME = re.compile(r"\w{41,}")
ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w./~%#?=&+:@-]*)?")


class Cell(str):
    """The text of an entry, and the HTML that stands for it on a page."""

    html: str

    @classmethod
    def of(cls, text: str, html: str) -> Self:
        cell = cls(text)
        cell.html = html
        return cell


def chip(outcome: Outcome, text: str) -> Cell:
    """A text on its outcome's colour: never the colour alone."""
    return Cell.of(text, f'<span class="chip o-{outcome.value}">{escaped(text, MESSAGE)}</span>')


def stacked(cells: Iterable[str]) -> Cell:
    """Several entries in one square, one below the other."""
    cells = list(cells)
    return Cell.of("; ".join(cells), "<br>".join(map(html_of, cells)))


def links(sources: Iterable[str]) -> Cell:
    """`owner/repository#number` and https addresses as links, whatever else stands there as text."""
    shown = [plain(source, 200) for source in sources]
    return Cell.of(", ".join(shown), ", ".join(map(_link, shown)))


def html_of(entry: str) -> str:
    return entry.html if isinstance(entry, Cell) else escaped(entry, MESSAGE)


def _link(source: str) -> str:
    number = GITHUB.fullmatch(source)
    address = f"https://github.com/{number[1]}/issues/{number[2]}" if number else source
    if not ADDRESS.fullmatch(address):
        return escaped(source, 200)
    return f'<a rel="noreferrer" href="{escaped(address, 200)}">{escaped(source, 200)}</a>'


def cut_names(text: str) -> str:
    """Long names without their middle: that of a module may have 170 letters."""
    return LONG_NAME.sub(lambda name: f"{name[0][:20]}…{name[0][-12:]}", text)
