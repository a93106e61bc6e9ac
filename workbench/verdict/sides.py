"""Which two environments are meant: by their names in the results, a part of them, or none."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from workbench.comparison.sides import Question, question
from workbench.planned import by_turns
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
    said, its = ("several environments have", "their") if having else ("no environment has", "its")
    names = ", ".join(map(repr, map(plain, having or there))) or "none"
    fix = "; give one name in full" if there else ""
    raise ValueError(f"{said} {plain(text)!r} in {its} name; there are: {names}{fix}")


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
    """The two that are named; else those with the most trials in common, by turns if any were; the later one second."""
    given = [named(results, text) if text else "" for text in (baseline, candidate)]
    if all(given):
        return given[0], given[1]
    wanted = set(filter(None, given))
    near = _nearest(_asked(by_turns(results)), wanted) or _nearest(_asked(results), wanted)
    if near is None:
        raise ValueError(
            "a verdict takes two environments; `workbench check BASELINE CANDIDATE` measures them"
        )
    first, last = near
    turned = given[0] == last or given[1] == first
    return (last, first) if turned else (first, last)


def _nearest(asked: Mapping[str, set[Question]], wanted: set[str]) -> tuple[str, str] | None:
    """In natural order; among equals the two furthest apart."""
    names = sorted(asked, key=natural)
    pairs = [
        pair for pair in combinations(range(len(names)), 2) if wanted <= {names[place] for place in pair}
    ]
    common = {(one, other): len(asked[names[one]] & asked[names[other]]) for one, other in pairs}
    if not pairs:
        return None
    one, other = max(pairs, key=lambda pair: (common[pair], pair[1] - pair[0]))
    return names[one], names[other]


def _asked(results: Iterable[Result]) -> dict[str, set[Question]]:
    found: dict[str, set[Question]] = {}
    for each in results:
        found.setdefault(each.trial.environment, set()).add(question(each.trial))
    return found


def _there(results: Iterable[Result]) -> list[str]:
    return sorted({each.trial.environment for each in results}, key=natural)
