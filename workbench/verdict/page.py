"""A verdict for a page: the answer, a table a family whose trials lead to the crash matrix, the rest folded."""

from collections.abc import Sequence

from workbench.showing.tables import block, table
from workbench.untrusted import escaped
from workbench.verdict.deciding import Verdict
from workbench.verdict.parts import Part, parts

MOST_ROWS = 300
MATRIX = "01_crash_matrix.html"
TEXT, COMMAND = 600, 4000  # characters


def html(verdict: Verdict, more: Sequence[Part] = ()) -> str:
    answer, *others = [*parts(verdict), *more]
    lines = "".join(f"<li>{escaped(line, TEXT)}</li>" for line in answer.lines)
    head = f"<p><strong>{escaped(answer.title)}</strong></p><ul>{lines}</ul>"
    return block(head, *(_folded(part) if part.folded else _open(part) for part in others))


def _open(part: Part) -> str:
    return f"<h3>{escaped(part.title, TEXT)}</h3>{_inside(part)}"


def _folded(part: Part) -> str:
    return f"<details><summary>{escaped(part.title, TEXT)}</summary>{_inside(part)}</details>"


def _inside(part: Part) -> str:
    said = "".join(f"<p>{escaped(line, TEXT)}</p>" for line in part.lines)
    command = f'<pre tabindex="0">{escaped(part.command, COMMAND)}</pre>' if part.command else ""
    return said + command + (_table(part) if part.rows else "")


def _table(part: Part) -> str:
    rows = [
        [_entry(head, entry) for head, entry in zip(part.heads, row, strict=True)]
        for row in part.rows[:MOST_ROWS]
    ]
    more = len(part.rows) - MOST_ROWS
    return table(
        part.title + (f", {more} of them not listed" if more > 0 else ""), [*map(escaped, part.heads)], rows
    )


def _entry(head: str, entry: str) -> str:
    shown = escaped(entry, TEXT)
    return f'<a href="{MATRIX}#t{shown}">{shown}</a>' if head == "trial" else shown
