"""What a comparison found: one Change a trial and place, as text in the manner of benchstat and as rows for pages."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from workbench.comparison.rules import Direction, Rule
from workbench.comparison.sides import Place, Side
from workbench.comparison.tunings import Sides as Tunings
from workbench.results import Trial


@dataclass(frozen=True)
class Change:
    """Before to after of one trial, in one run on one card. Ratios are after/before: 0.98 is 2 % faster.

    `trial` is that of the second side; times are geometric means over the processes. `low` and `high` bound the
    ratio with 95 %, each trial for itself; `p` is after Holm. `limit` is the margin in use. `more_needed` is
    for each side: 0 where the word stands, None where no number of processes helps. `tuned`: what the processes
    of each side chose, in a tuned mode. `nearest` and `farthest`, from 1, is the ratio without what the card's state
    may have added: None where it added nothing, the second also where that has no bound.
    """

    trial: Trial
    run: str
    card: str
    before_us: float | None
    after_us: float | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: Direction
    reasons: tuple[str, ...]
    processes: tuple[int, int]
    more_needed: int | None
    limit: float
    p: float | None
    tuned: Tunings = ((), ())
    nearest: float | None = None
    farthest: float | None = None

    @property
    def percent(self) -> str:
        """`+2.8% [+1.4%, +4.2%]`, without the bounds where they are not known."""
        if self.ratio is None:
            return "no ratio"
        said = f"{self.ratio - 1:+.1%}"
        if self.low is None or self.high is None:
            return said
        return f"{said} [{self.low - 1:+.1%}, {self.high - 1:+.1%}]"


@dataclass(frozen=True)
class Changes:
    """Iterates over its changes. `floors` are A/A floors and `drifts` the range of the anchor, both shares."""

    changes: tuple[Change, ...]
    before: Side
    after: Side
    rule: Rule
    floors: dict[Place, float]
    drifts: dict[Place, float]

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        return self.text()

    def counts(self) -> dict[Direction, int]:
        return {each: sum(change.verdict == each for change in self.changes) for each in Direction}

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, for a table or a file."""
        return [asdict(change) | {"verdict": str(change.verdict)} for change in self.changes]

    def text(self) -> str:
        from workbench.comparison.changes_text import text

        return text(self)

    def _repr_html_(self) -> str:
        from workbench.showing.tables import block
        from workbench.untrusted import escaped_lines

        return block(f'<div class="said data" tabindex="0">{escaped_lines(self.text(), 200_000)}</div>')
