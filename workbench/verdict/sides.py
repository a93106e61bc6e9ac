"""Which two environments are meant: by their names in the results, a part of them, or none."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workbench.results import Result, Results
from workbench.showing.tables import block, prose
from workbench.showing.told import telling
from workbench.untrusted import natural, plain
from workbench.verdict.deciding import Verdict, judge
from workbench.verdict.policy import DEFAULT, load_policy


def named(results: Results, text: str, *aliases: str) -> str:
    """The environment with this name, or the only one that has it in its name. Raises ValueError."""
    there = _there(results)
    for word in (text, *aliases):
        if word in there:
            return word
    having = [each for each in there if text in each]
    if len(having) == 1:
        return having[0]
    said = "several environments have" if having else "no environment has"
    names = ", ".join(map(repr, map(plain, having or there))) or "none"
    fix = "; give one name in full" if there else ""
    raise ValueError(f"{said} {plain(text)!r} in its name; there are: {names}{fix}")


@dataclass(frozen=True)
class Nothing:
    """Why there is no verdict; shows itself. `results` are none: it speaks of no data."""

    why: str
    results: Results = field(default_factory=Results)

    def __repr__(self) -> str:
        return f"No verdict: {self.why}"

    def _repr_html_(self) -> str:
        return block(f"<p><strong>No verdict:</strong> {prose(self.why)}</p>")

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return telling(self._repr_html_(), repr(self), answer=["No verdict", self.why])


def judge_named(
    results: Results, baseline: str = "", candidate: str = "", current: str = "", policy: str = ""
) -> Verdict | Nothing:
    """As a page asks for it; `policy` is a file. Shows itself, also where there are no two environments."""
    try:
        sides = two_of(results, baseline, candidate)
        used = named(results, current) if current else ""
    except ValueError as problem:
        return Nothing(str(problem))
    return judge(results, *sides, used, load_policy(policy) if policy else DEFAULT)


def two_of(results: Results, baseline: str = "", candidate: str = "") -> tuple[str, str]:
    """The two that are named; where one is not, the first or the last that was measured by turns, or at all."""
    by_turns = _there(each for each in results if each.generation) or _there(results)
    if len(by_turns) < 2 and not (baseline and candidate):
        raise ValueError(
            "a verdict takes two environments; `workbench check BASELINE CANDIDATE` measures them"
        )
    return (
        named(results, baseline) if baseline else by_turns[0],
        named(results, candidate) if candidate else by_turns[-1],
    )


def _there(results: Iterable[Result]) -> list[str]:
    return sorted({each.trial.environment for each in results}, key=natural)
