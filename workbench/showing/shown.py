"""A table that shows itself: in a page as HTML, in text with the same words."""

from dataclasses import dataclass

from workbench.showing.cells import html_of
from workbench.showing.tables import MOST_ROWS, block, left_out, prose, table, text_table
from workbench.untrusted import escaped

OPEN_ROWS = 40  # with more rows than this it starts folded


@dataclass(frozen=True)
class Shown:
    """`note` stands below the table, `empty` in its place where there are no rows, and says how to get some."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "Nothing of this is stored yet."
    note: str = ""

    def __repr__(self) -> str:
        if not self.rows:
            return self.empty
        shown = text_table(self.heads, self.rows[:MOST_ROWS])
        return "\n".join(filter(None, (self.caption, shown, left_out(self.rows), self.note)))

    def _repr_html_(self) -> str:
        return block(self.html())

    def html(self) -> str:
        """Without the style, for a part of a larger output."""
        if not self.rows:
            return f"<p>{prose(self.empty)}</p>"
        rows = [[*map(html_of, row)] for row in self.rows[:MOST_ROWS]]
        shown = table(self.caption, [*map(escaped, self.heads)], rows)
        if len(rows) > OPEN_ROWS:
            shown = f"<details><summary>{escaped(self.caption, 300)}: {len(self.rows)} rows</summary>{shown}</details>"
        return shown + "".join(f"<p>{prose(each)}</p>" for each in (left_out(self.rows), self.note) if each)


class Tables(tuple[Shown, ...]):
    """Several, one below the other, as one output."""

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return block(*(each.html() for each in self))
