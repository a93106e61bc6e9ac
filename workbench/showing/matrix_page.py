"""A matrix for a page: how many, then square by square, then why. Large ones stay fit to be mailed."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.results import Standing
from workbench.showing import legend, why, why_page
from workbench.showing.counts import HEAD
from workbench.showing.grids import Grid, grids
from workbench.showing.tables import block, table
from workbench.untrusted import escaped

if TYPE_CHECKING:
    from workbench.matrix import Matrix, Row

MOST_SQUARES = 4000  # about 100 bytes each
MOST_WIDE = 6  # columns, beyond which squares show their letter alone and headings are turned
LABEL = 400  # characters of what tells a row apart
OPEN_ROWS = 40  # with more rows than this, a kernel's table starts folded
FLAKY_MEANS = (
    "attempts at one trial ended differently: k of n ended as named, and the edge of its square has the "
    "colour of another outcome"
)
EMPTY = (
    "<p><strong>No results yet.</strong> Measure with <code>workbench run</code>, or give this page a folder "
    "that has results: its parameter <code>results</code>.</p>"
)


def page(matrix: "Matrix") -> str:
    if not matrix.rows:
        nothing = matrix.results.nothing
        return block(f"<p><strong>{escaped(nothing, 600)}.</strong></p>" if nothing else EMPTY)
    names = repr([(row.kernel, row.case, row.names) for row in matrix.rows]) + matrix.columns
    prefix = "m" + hashlib.sha256(names.encode("utf-8", "replace")).hexdigest()[:6]
    groups = why.grouped(list(matrix.standings.values()))
    shown = {group.mark for group in groups[: why_page.MOST]}
    pieces = grids(matrix.heads, matrix.rows)
    return block(
        matrix.counts().tables(),
        _legend(matrix, pieces, prefix),
        "<h3>Trial by trial</h3>",
        *_squares(matrix.row_axes, pieces, prefix, shown),
        why_page.parts(groups, prefix),
    )


def _legend(matrix: "Matrix", pieces: list[Grid], prefix: str) -> str:
    entries = []
    for kind, reasons in legend.classes(matrix.standings.values()).items():
        look = legend.LOOKS[kind]
        classes = "".join(_class(kind, reason, count) for reason, count in reasons.items() if reason != "ok")
        mark, meaning = f' id="{prefix}-{kind}"', look.meaning + classes
        entries.append(_entry(mark, kind, look.letter, look.word, meaning))
    if any(square and square.flaky for square in matrix.squares):
        entries.append(_entry("", "flaky", legend.FLAKY, "flaky", FLAKY_MEANS))
    if any(None in row.squares for grid in pieces for row in grid.rows):
        look = legend.UNPLANNED
        entries.append(_entry(f' id="{prefix}-unplanned"', "unplanned", look.letter, look.word, look.meaning))
    if texts := legend.marks(matrix.squares):
        said = "; ".join(escaped(text, 200) for text in texts)
        entries.append(
            _entry(f' id="{prefix}-marked"', "marked", legend.MARK, "marked", f"to be known of it: {said}")
        )
    return f"<dl>{' '.join(entries)}</dl>"


def _entry(mark: str, kind: str, letter: str, word: str, meaning: str) -> str:
    return f'<dt{mark}><span class="chip o-{kind}"><b>{letter}</b> {word}</span></dt><dd>{meaning}</dd>'


def _class(kind: str, reason: str, count: int) -> str:
    meaning, advice = (escaped(text, 300) for text in legend.advice(reason))
    said = f"{meaning} <i>What to do:</i> {advice}" if meaning else "no meaning is known of this class"
    sign, trials = legend.sign(kind, reason), f"{count} trial{'s' * (count != 1)}"
    return f"<p><b>{sign}</b> <code>{escaped(reason, 60)}</code>, {trials}: {said}</p>"


def _squares(axes: Sequence[str], pieces: list[Grid], prefix: str, shown: set[str]) -> Iterator[str]:
    every = sum(len(grid.rows) * len(grid.columns) for grid in pieces)
    for grid in pieces:
        kept = _kept(grid.rows, max(1, len(grid.rows) * MOST_SQUARES // max(every, MOST_SQUARES)))
        caption = f"{grid.name}: {_rows(grid.rows)}" + _left_out(len(grid.rows) - len(kept))
        entries = [[_label(row), *(_square(square, prefix, shown) for square in row.squares)] for row in kept]
        heads = [", ".join([*axes, "case"]), *(escaped(name, HEAD) for name in grid.columns)]
        detail = table(caption, heads, entries, kind="many" if len(grid.columns) > MOST_WIDE else "")
        yield detail if len(grid.rows) <= OPEN_ROWS else _folded(caption, detail)


def _label(row: "Row") -> str:
    """One cell, which stays in sight while the squares scroll: what tells the row apart."""
    return f"<b>{escaped(', '.join(row.names))}</b> {escaped(row.short or row.case, LABEL)}"


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
    if square is None:
        look = legend.UNPLANNED
        return (
            f'<td class="unplanned"><a href="#{prefix}-unplanned" title="{look.word}">{look.letter}</a></td>'
        )
    kind = legend.kind(square)
    goal = why.mark(square) if why.needs_reason(square) else kind
    goal = goal if goal in shown or goal == kind else "more"
    split = f" flaky also-{legend.other(square).value}" if square.flaky else ""
    shown_as = f"<b>{legend.letters(square)}</b><span> {legend.word(square)}</span>"
    dagger = f' <a class="dagger" href="#{prefix}-marked">{legend.MARK}</a>' if legend.mark(square) else ""
    place = f' id="t{square.result.trial.id}"'  # what a verdict leads to
    return f'<td{place} class="o-{kind}{split}"><a href="#{prefix}-{goal}">{shown_as}</a>{dagger}</td>'
