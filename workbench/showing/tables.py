"""HTML tables of one style: a caption, scopes, and a wrapper that scrolls on a narrow screen."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from workbench.showing.legend import LOOKS
from workbench.untrusted import MESSAGE, escaped

MOST_ROWS = 300  # of one table on a page, which is sent by mail
SENTENCE = 40  # characters, from which an entry is more than a name
OUTPUT_CSS = Path(__file__).parent / "template" / "output.css"
_LOOKS = "".join(
    f".wb .o-{kind}{{background-color:{look.colour};color:{look.ink}}}"
    f".wb .also-{kind}{{--also:{look.colour}}}"
    for kind, look in LOOKS.items()
)

_LINES = (line.strip() for line in OUTPUT_CSS.read_text().splitlines())
STYLE = f"<style>{' '.join(_LINES)} {_LOOKS}</style>"


def block(*parts: str) -> str:
    """Parts of HTML as one output, with its style: what a `_repr_html_` returns."""
    return f'{STYLE}<div class="wb">{"".join(parts)}</div>'


def prose(text: str) -> str:
    """Our own sentences as HTML; a command in them stands between backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped(text, 2 * MESSAGE))


def left_out(rows: Sequence[object]) -> str:
    """`and 28 more rows`; empty where all of them are shown."""
    more = len(rows) - MOST_ROWS
    return f"and {more} more row{'s' * (more != 1)}" if more > 0 else ""


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], row_heads: int = 1, kind: str = ""
) -> str:
    """All arguments but the caption are HTML already; a row's first `row_heads` entries are headings.

    `kind` is a class of the style sheet: `many` has narrow columns, their headings turned.
    An entry that begins with `<td` stands as it is.
    """
    head = "".join(f'<th scope="col"><span>{each}</span></th>' for each in heads)
    look = f' class="{kind}"' if kind else ""
    body = "".join(f"<tr>{_row(row, row_heads)}</tr>" for row in rows)
    caption = escaped(caption, 300)
    # A region that scrolls must be reachable by keyboard, and then needs a name.
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">'
        f"<table{look}><caption><span>{caption}</span></caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def upright(
    corners: tuple[str, str], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows, turned where there are more columns than rows: a long list goes down a page, not off it.

    `corners` says what rows and columns are; a row begins with its name.
    """
    if len(columns) <= len(rows):
        return [corners[0], *columns], [list(row) for row in rows]
    names, *turned = zip(*rows, strict=True)
    return [corners[1], *names], [[name, *row] for name, row in zip(columns, turned, strict=True)]


def _row(row: Sequence[str], row_heads: int) -> str:
    heads = "".join(f'<th scope="row"{_kind(entry)}>{entry}</th>' for entry in row[:row_heads])
    return heads + "".join(
        entry if entry.startswith("<td") else f"<td{_kind(entry)}>{entry}</td>" for entry in row[row_heads:]
    )


def _kind(entry: str) -> str:
    """Versions and dates are not broken at their hyphens; sentences get room."""
    if len(entry) <= 16 and " " not in entry:
        return ' class="short"'
    return ' class="long"' if len(re.sub(r"<[^>]*>", "", entry)) > SENTENCE else ""


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same for a terminal: columns padded, two blanks between."""
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    padded = (
        "  ".join(entry.ljust(width) for entry, width in zip(row, widths, strict=True))
        for row in (heads, *rows)
    )
    return "\n".join(line.rstrip() for line in padded)
