"""What speaks against an environment, counted by kernel and reason; computed, never written by hand."""

from dataclasses import dataclass
from typing import Any

from workbench.results import Results, Standing
from workbench.showing import legend
from workbench.showing.tables import block, prose
from workbench.showing.told import telling
from workbench.untrusted import escaped, natural, plain

MOST, MOST_NAMED = 12, 3
EMPTY = "No results yet, so nothing is found: `workbench run` measures."
CALM = "Nothing speaks against an environment"


@dataclass(frozen=True)
class Findings:
    """Shows itself: a line for each kernel and reason, the most trials first, and which environments had it."""

    results: Results

    @property
    def lines(self) -> list[str]:
        """`fp4_quantize: wrong (wrong_numbers), 120 of 120 trials on NVIDIA H200, in all 3 environments: ...`"""
        standings = list(self.results.trials().values())
        groups: dict[tuple[str, str, str], list[Standing]] = {}
        for standing in filter(lambda each: each.against, standings):
            trial = standing.result.trial
            groups.setdefault((trial.kernel, trial.gpu, standing.result.reason), []).append(standing)
        ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), natural(item[0])))
        return [_line(key, members, standings) for key, members in ordered]

    @property
    def summary(self) -> str:
        """How many trials there are, and how they ended."""
        standings = self.results.trials().values()
        return f"{len(standings)} trials: {legend.tally(standings)}" if standings else ""

    def __repr__(self) -> str:
        return "\n".join([self._first(), *(f"  {line}" for line in self._shown())])

    def _repr_html_(self) -> str:
        return block(self.html())

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return telling(self._repr_html_(), repr(self), findings=[self._first(), *self._shown()])

    def html(self) -> str:
        items = "".join(f"<li>{escaped(line, 600)}</li>" for line in self._shown())
        return f"<p>{prose(self._first())}</p>" + (f"<ul>{items}</ul>" if items else "")

    def _first(self) -> str:
        if not self.summary:
            return plain(self.results.nothing, 600) or EMPTY
        return f"{self.summary}. " + ("What speaks against an environment:" if self.lines else f"{CALM}.")

    def _shown(self) -> list[str]:
        lines = self.lines
        more = len(lines) - MOST
        return [*lines[:MOST], f"and {more} more reasons"] if more > 0 else lines


def _line(key: tuple[str, str, str], members: list[Standing], every: list[Standing]) -> str:
    kernel, gpu, reason = key
    alike = [
        each.result.trial
        for each in every
        if (each.result.trial.kernel, each.result.trial.gpu) == (kernel, gpu)
    ]
    had = sorted({each.result.trial.environment for each in members}, key=natural)
    tried = {trial.environment for trial in alike}
    word = legend.LEGEND[members[0].outcome].word
    shown = word if reason == members[0].outcome else f"{word} ({plain(reason, 60)})"
    flaky = sum(each.flaky for each in members)
    said = f", {flaky} of them flaky" if flaky else ""
    on = plain(legend.gpu(gpu))
    where = _where(had, len(tried))
    return f"{plain(kernel)}: {shown}, {len(members)} of {len(alike)} trials on {on}, {where}{said}"


def _where(had: list[str], tried: int) -> str:
    if len(had) == tried > 1:
        return f"in all {tried} environments"
    if len(had) > MOST_NAMED:
        return f"in {len(had)} of {tried} environments, from {plain(had[0])} to {plain(had[-1])}"
    return f"in {', '.join(map(plain, had))}"
