"""A verdict as Markdown for a comment on a pull request: the answer first, details folded, never too long to be posted.

All text is escaped; it can neither mention anybody nor refer to another thread.
"""

import html
import re
from collections.abc import Sequence

from workbench.verdict.deciding import Verdict
from workbench.verdict.page import MATRIX
from workbench.verdict.parts import Part, parts

LONGEST = 60_000  # characters
ROWS = ((400, 400), (400, 60), (200, 15), (60, 0), (20, 0), (5, 0))
"""How many rows of an open and of a folded table, the most first; a folded one without rows is left out."""
REST = "The rest is left out: it was too long for a comment."
SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")
APARTED = re.compile(r"(@|#|://|www\.|\bGH-)", re.IGNORECASE)
"""Would mention somebody, refer to a thread, or make a link."""
APART = "\u200b"  # no width: what comes before it is not read together with what comes after


def markdown(verdict: Verdict, pages: str = "", more: Sequence[Part] = ()) -> str:
    """`pages` is where the pages are to be found, for the links to their trials; without it there are none."""
    answer, *others = [*parts(verdict), *more]
    for most, most_folded in ROWS:
        blocks = _blocks(answer, others, pages, most, most_folded)
        if len(shown := _joined(blocks)) <= LONGEST:
            return shown
    while len(blocks) > 1 and len(_joined([*blocks, REST])) > LONGEST:
        blocks.pop()  # whole ones: a code block or a table that is cut off takes what follows into it
    room = LONGEST - len(_joined(["", REST]))
    head = blocks[0] if len(blocks[0]) <= room else blocks[0][:room].rpartition("\n")[0]
    return _joined([head, *blocks[1:], REST])


def _joined(blocks: Sequence[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Text as it is, whatever Markdown it looks like."""
    apart = APARTED.sub(rf"\1{APART}", text)
    return SPECIAL.sub(r"\\\1", " ".join(apart.split()))


def _for_html(text: str) -> str:
    """Markdown is not read between tags of a line."""
    return html.escape(" ".join(APARTED.sub(rf"\1{APART}", text).split()))


def _blocks(answer: Part, others: Sequence[Part], pages: str, most: int, most_folded: int) -> list[str]:
    """A block for the answer and for each part that has room."""
    blocks = ["\n".join([f"## {escape(answer.title)}", "", *(f"* {escape(line)}" for line in answer.lines)])]
    lost = []
    for part in others:
        room = most_folded if part.folded else most
        if part.rows and not room:
            lost.append(part.title)
            continue
        blocks.append("\n".join(_folded(part, pages, room) if part.folded else _open(part, pages, room)))
    return [*blocks, f"Left out to fit a comment: {escape('; '.join(lost))}."] if lost else blocks


def _open(part: Part, pages: str, most: int) -> list[str]:
    return [f"### {escape(part.title)}", "", *_inside(part, pages, most)]


def _folded(part: Part, pages: str, most: int) -> list[str]:
    return [
        f"<details><summary>{_for_html(part.title)}</summary>",
        "",
        *_inside(part, pages, most),
        "",
        "</details>",
    ]


def _inside(part: Part, pages: str, most: int) -> list[str]:
    if part.command:
        return [*(f"* {escape(line)}" for line in part.lines), "", *_code(part.command)]
    lines = [escape(line) + "  " for line in part.lines]
    if not part.rows:
        return lines
    rows = [
        _row([_entry(*each, pages) for each in zip(part.heads, row, strict=True)]) for row in part.rows[:most]
    ]
    left_out = len(part.rows) - len(rows)
    more = ["", f"{left_out} more rows are left out."] if left_out > 0 else []
    return [
        *lines,
        "",
        _row([escape(head) for head in part.heads]),
        _row(["---"] * len(part.heads)),
        *rows,
        *more,
    ]


def _entry(head: str, entry: str, pages: str) -> str:
    return (
        f"[{escape(entry)}]({pages.rstrip('/')}/{MATRIX}#t{entry})"
        if head == "trial" and pages
        else escape(entry)
    )


def _row(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _code(command: str) -> list[str]:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return [f"{fence}sh", command, fence]
