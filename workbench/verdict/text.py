"""A verdict for a terminal: the answer first, what decides, what would settle it; the rest as counts."""

from collections.abc import Sequence

from workbench.showing.tables import text_table
from workbench.verdict.deciding import Verdict
from workbench.verdict.parts import Part, parts

MOST_ROWS = 30


def text(verdict: Verdict, more: Sequence[Part] = ()) -> str:
    answer, *others = [*parts(verdict), *more]
    shown = [_shown(part) for part in others if not part.folded]
    folded = [f"  {part.title}" for part in others if part.folded]
    rest = ["\n".join(["also there, with --format markdown or html:", *folded])] if folded else []
    return "\n\n".join([_shown(answer), *shown, *rest])


def _shown(part: Part) -> str:
    rows = part.rows[:MOST_ROWS]
    left_out = len(part.rows) - len(rows)
    lines = [part.title, *(f"  {line}" for line in part.lines)]
    lines += [f"    {part.command}"] if part.command else []
    lines += [f"  {line}" for line in text_table(part.heads, rows).splitlines()] if rows else []
    return "\n".join(lines + [f"  and {left_out} more"] * (left_out > 0))
