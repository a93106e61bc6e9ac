"""A matrix for the terminal: a grid of letters for each kernel, what the letters mean, and why."""

import re
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.results import Standing
from workbench.showing import legend, why
from workbench.showing.counts import head_text
from workbench.showing.tables import text_table
from workbench.untrusted import MESSAGE, plain

if TYPE_CHECKING:
    from workbench.matrix import Matrix, Row

CASE = 110  # characters of a case's label
EMPTY = "No results yet: `workbench run` measures, and `--results` says where they are kept."
MOST_REASONS = 40
MOST_TRIALS = 3


def text(matrix: "Matrix", colour: bool = False) -> str:
    if not matrix.rows:
        return plain(matrix.results.nothing, MESSAGE) or EMPTY
    grids = [
        _grid(matrix, kernel, list(rows), colour)
        for kernel, rows in groupby(matrix.rows, lambda row: row.kernel)
    ]
    parts = [repr(matrix), _columns(matrix), *grids, _legend(matrix, colour), _reasons(matrix)]
    return "\n\n".join(part for part in parts if part)


def _columns(matrix: "Matrix") -> str:
    return "\n".join(
        f"column {number}: {head_text(head)}" for number, head in enumerate(matrix.heads, start=1)
    )


def _grid(matrix: "Matrix", kernel: str, rows: list["Row"], colour: bool) -> str:
    names, entries = matrix.labels(rows)
    head, *labels = text_table(names, [[entry[:CASE] for entry in row] for row in entries]).splitlines()
    width = max(map(len, (head, *labels)))
    held = f": {rows[0].held}" if rows[0].held else ""
    numbers = "".join(f"{number:>6}" for number in range(1, len(matrix.heads) + 1))
    lines = [f"{plain(kernel)}{held}", f"  {head:{width}}{numbers}"]
    for label, row in zip(labels, rows, strict=True):
        lines.append(
            f"  {label:{width}} " + "".join(_square(square, colour) for square in row.squares).rstrip()
        )
    return "\n".join(lines)


def _square(square: Standing | None, colour: bool) -> str:
    shown = f"{legend.letters(square) + legend.mark(square):<4}"
    return "  " + (_painted(shown, legend.LOOKS[legend.kind(square)]) if colour and square else shown)


def _painted(text: str, look: legend.Look) -> str:
    back, front = (
        ";".join(str(int(pair, 16)) for pair in re.findall("..", value[1:]))
        for value in (look.colour, look.ink)
    )
    return f"\x1b[48;2;{back}m\x1b[38;2;{front}m{text}\x1b[0m"


def _legend(matrix: "Matrix", colour: bool) -> str:
    lines = []
    for kind, reasons in legend.classes(matrix.standings.values()).items():
        look = legend.LOOKS[kind]
        shown = _painted(f" {look.letter} ", look) if colour else look.letter
        lines.append(f"{shown} {look.word}: {look.meaning}")
        lines += [_class(kind, reason, count) for reason, count in reasons.items() if reason != "ok"]
    if any(square and square.flaky for square in matrix.squares):
        lines.append(f"{legend.FLAKY} flaky: attempts at one trial ended differently")
    if None in matrix.squares:
        lines.append(f"{legend.UNPLANNED.letter} {legend.UNPLANNED.word}: {legend.UNPLANNED.meaning}")
    lines += [f"{legend.MARK} {text}" for text in legend.marks(matrix.squares)]
    return "\n".join(lines)


def _class(kind: str, reason: str, count: int) -> str:
    meaning, advice = legend.advice(reason)
    said = f"\n      {meaning}\n      What to do: {advice}" if meaning else ""
    return f"  {legend.sign(kind, reason):<2} {plain(reason, 60)} ({count}){said}"


def _reasons(matrix: "Matrix") -> str:
    groups = why.grouped(list(matrix.standings.values()))
    lines = [line for group in groups[:MOST_REASONS] for line in _reason(group)]
    left_out = len(groups) - MOST_REASONS
    return "\n".join([*lines, f"and {left_out} more reasons"] if left_out > 0 else lines)


def _reason(group: why.Reason) -> list[str]:
    detail = plain(group.first.result.detail, MESSAGE)
    trials = len(group.standings)
    lines = [f"{group.title} ({trials} trial{'s' * (trials != 1)})", *([f"    {detail}"] if detail else [])]
    for standing in group.standings[:MOST_TRIALS]:
        trial = standing.result.trial
        names = (trial.kernel, trial.mode, plain(trial.label, CASE), trial.environment, legend.gpu(trial.gpu))
        tried = f"{standing.agree}/{standing.tried} attempts{why.earlier(standing)}"
        lines.append(f"    {trial.id} " + ", ".join([*(plain(name) for name in names if name), tried]))
    left_out = len(group.standings) - MOST_TRIALS
    return [*lines, f"    and {left_out} more"] if left_out > 0 else lines
