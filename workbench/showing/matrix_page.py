"""A matrix for a page: how many, then square by square, then why. Large ones stay fit to be mailed."""

import hashlib
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.results import Outcome, Standing
from workbench.showing import legend, why, why_page
from workbench.showing.counts import heads
from workbench.showing.tables import block, table
from workbench.untrusted import escaped, plain

if TYPE_CHECKING:
    from workbench.matrix import Matrix, Row

MOST_SQUARES = 4000  # about 100 bytes each
OPEN_ROWS = 40  # with more rows than this, a kernel's table starts folded
FLAKY_MEANS = (
    "attempts at one trial ended differently: k of n ended as named, and the edge of its square has the "
    "colour of another end"
)
EMPTY = (
    "<p><strong>No results yet.</strong> Measure with <code>workbench run</code>, or give this page a folder "
    "that has results: its parameter <code>results</code>.</p>"
)


def page(matrix: "Matrix") -> str:
    if not matrix.rows:
        return block(EMPTY)
    names = repr([(row.kernel, row.case, row.names) for row in matrix.rows]) + matrix.columns
    prefix = "m" + hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:6]
    groups = why.grouped(list(matrix.standings.values()))
    shown = {group.mark for group in groups[: why_page.MOST]}
    kernels = [(kernel, list(rows)) for kernel, rows in groupby(matrix.rows, lambda row: row.kernel)]
    squares = _squares(matrix, kernels, prefix, shown)
    return block(
        _headline(matrix),
        matrix.counts().table(),
        _legend(matrix, prefix),
        *squares,
        why_page.parts(groups, prefix),
    )


def _headline(matrix: "Matrix") -> str:
    return (
        f"<p><strong>{len(matrix.squares)} trials</strong>: {escaped(legend.tally(matrix.squares), 400)}.</p>"
    )


def _legend(matrix: "Matrix", prefix: str) -> str:
    seen = {square.outcome if square else Outcome.NOT_RUN for square in matrix.squares}
    entries = [
        _entry(f' id="{prefix}-{outcome}"', outcome.value, look.letter, look.word, look.meaning)
        for outcome, look in legend.LEGEND.items()
        if outcome in seen
    ]
    if any(square and square.flaky for square in matrix.squares):
        entries.append(_entry("", "flaky", legend.FLAKY, "flaky", FLAKY_MEANS))
    entries += [
        _entry("", "marked", legend.MARK, "marked", escaped(text)) for text in legend.marks(matrix.squares)
    ]
    return f"<dl>{''.join(entries)}</dl>"


def _entry(mark: str, kind: str, letter: str, word: str, meaning: str) -> str:
    return f'<dt{mark}><span class="chip o-{kind}"><b>{letter}</b> {word}</span></dt><dd>{meaning}</dd>'


def _squares(
    matrix: "Matrix", kernels: list[tuple[str, list["Row"]]], prefix: str, shown: set[str]
) -> list[str]:
    room = max(1, MOST_SQUARES // len(matrix.heads))
    parts = ["<h3>Trial by trial</h3>"]
    for kernel, rows in kernels:
        kept = _kept(rows, room * len(rows) // len(matrix.rows) if len(matrix.rows) > room else len(rows))
        caption = f"{plain(kernel)}: {_rows(rows)}" + _left_out(len(rows) - len(kept))
        names, labels = matrix.labels(kept)
        entries = [
            [*map(escaped, label), *(_square(square, prefix, shown) for square in row.squares)]
            for label, row in zip(labels, kept, strict=True)
        ]
        detail = table(caption, [*map(escaped, names), *heads(matrix.heads)], entries, len(names))
        parts.append(detail if len(rows) <= OPEN_ROWS else _folded(caption, detail))
    return parts


def _folded(summary: str, detail: str) -> str:
    return f"<details><summary>{escaped(summary, 300)}</summary>{detail}</details>"


def _rows(rows: list["Row"]) -> str:
    held = f", each with {rows[0].held}" if rows[0].held else ""
    return f"{len(rows)} row{'s' * (len(rows) != 1)}{held}"


def _left_out(count: int) -> str:
    return f", {count} of them counted above but not listed" if count else ""


def _kept(rows: list["Row"], most: int) -> list["Row"]:
    """As many rows as there is room for, in their order; those where all is ok give way first."""
    if len(rows) <= most:
        return rows
    calm = {
        id(row)
        for row in rows
        if not any(square is None or why.needs_reason(square) for square in row.squares)
    }
    first = [row for row in rows if id(row) not in calm] + [row for row in rows if id(row) in calm]
    kept = {id(row) for row in first[:most]}
    return [row for row in rows if id(row) in kept]


def _square(square: Standing | None, prefix: str, shown: set[str]) -> str:
    outcome = square.outcome if square else Outcome.NOT_RUN
    goal = why.mark(square) if square and why.needs_reason(square) else outcome.value
    goal = goal if goal in shown or goal == outcome.value else "more"
    split = f" flaky also-{legend.other(square).value}" if square and square.flaky else ""
    shown_as = f"<b>{legend.letter(square)}</b> {legend.word(square)}{legend.mark(square)}"
    return f'<td class="o-{outcome.value}{split}"><a href="#{prefix}-{goal}">{shown_as}</a></td>'
