"""Why trials are not simply ok: one group for all that ended alike, with the same message but for numbers."""

import hashlib
from dataclasses import dataclass

from workbench.results import Outcome, Standing
from workbench.showing import legend
from workbench.untrusted import normalised, plain


@dataclass(frozen=True)
class Reason:
    """Trials that ended alike. `mark` is short, stable and safe in an HTML id."""

    mark: str
    standings: tuple[Standing, ...]

    @property
    def first(self) -> Standing:
        return self.standings[0]

    @property
    def title(self) -> str:
        result = self.first.result
        stage = f" at {plain(result.stage, 30)}" if result.stage else ""
        word = legend.LEGEND[result.outcome].word
        return f"{legend.letters(self.first)} {word}: {plain(result.reason, 60)}{stage}"


def needs_reason(standing: Standing) -> bool:
    return standing.flaky or standing.outcome != Outcome.OK


def earlier(standing: Standing) -> str:
    """What is said of attempts at an older kernel file or environment, which do not count."""
    return f", {standing.earlier} of an earlier version" if standing.earlier else ""


def mark(standing: Standing) -> str:
    """The same for all trials of one group."""
    result = standing.result
    parts = (result.outcome, str(standing.flaky), result.reason, result.stage, normalised(result.detail))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:8]


def grouped(standings: list[Standing]) -> list[Reason]:
    """The groups, as the legend orders outcomes, the larger first; trials that are simply ok are left out."""
    groups: dict[str, list[Standing]] = {}
    for standing in filter(needs_reason, standings):
        groups.setdefault(mark(standing), []).append(standing)
    order = list(legend.LEGEND)
    found = [Reason(name, tuple(members)) for name, members in groups.items()]
    return sorted(found, key=lambda each: (order.index(each.first.outcome), -len(each.standings), each.mark))
