"""Reports of others beside what was measured: matched by kernel, GPU and versions, and kept apart from it.

The rule: a report never becomes a result. What was measured agrees with it, contradicts it or leaves it open,
and says from how many trials.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench import known_issues
from workbench.known_issues import Issue
from workbench.planned import is_declared, is_forensic
from workbench.results import AGAINST, OUTCOME_OF_REASON, Outcome, Result, Results, Standing
from workbench.showing import legend
from workbench.showing.cells import Cell, links, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, escaped, natural, part, plain, whole

UNTRIED = {Outcome.NOT_RUN, Outcome.NOT_BUILT, Outcome.NOT_EXERCISED}
ABOUT_TIME = {"slower", "inconclusive"}
EMPTY = "No known issue of another project was reported for these kernels, GPUs and versions."
NOTE = (
    "`reported` is what others wrote in public threads; it was not measured here. `measured here` are the trials on "
    "this page in planned modes, not fenced or sanitized, with the same kernel, GPU and versions, whose library was "
    "called. Their shapes may differ from those that were reported."
)


@dataclass(frozen=True)
class Match:
    """A report, and the trials it could be about: of its kernel, on its GPUs, with its versions."""

    issue: Issue
    standings: tuple[Standing, ...]

    @property
    def agreeing(self) -> list[Standing]:
        return [each for each in self.standings if each.result.reason in self.issue.reasons]

    @property
    def ran(self) -> list[Standing]:
        return [
            each for each in self.standings
            if each.outcome not in UNTRIED or each.result.reason in self.issue.reasons
        ]  # fmt: skip

    @cached_property
    def word(self) -> str:
        """What the trials are to the report: agrees, contradicts, not seen, not measured, not decided.

        Only a report of exact versions that says how a call ends badly can be contradicted by calls that do not.
        """
        if self.agreeing:
            return "agrees"
        if not self.ran:
            return "not measured"
        if ABOUT_TIME & set(self.issue.reasons):
            return "not decided"
        ends = {OUTCOME_OF_REASON[reason] for reason in self.issue.reasons}
        return "contradicts" if self.issue.precise and ends <= AGAINST else "not seen"

    @property
    def counts(self) -> str:
        ended = " or ".join(self.issue.reasons)
        if self.word == "not measured":
            return f"none of its {_trials(self.standings)} ran"
        if self.word == "not decided":
            return f"{_trials(self.ran)} ran; only a comparison can tell slower"
        some = len(self.agreeing) or "none"
        return f"{some} of {_trials(self.ran)} that ran ended as {ended} ({legend.tally(self.ran)})"


def matches(results: Results) -> list[Match]:
    """Reports that some trial is in the range of, by their ids; trials of unknown GPU or packages match none.

    Nor do those behind a fence or under a tool: that they crash is our doing, and no report is of it. Nor those that
    the kernel's own file refused, for it was written from what such reports say.
    """
    issues, known = known_issues.load(), {}  # type: list[Issue], dict[tuple[str, ...], list[Issue]]
    found: dict[Issue, list[Standing]] = {}
    for standing in results.trials().values():
        result = standing.result
        if is_forensic(result) or is_declared(result):
            continue
        key = (
            result.trial.kernel,
            str(result.found.get("api", "")),
            result.environment_hash,
            str(sm_of(result)),
        )
        if key not in known:
            known[key] = _reports(issues, result)
        for issue in known[key]:
            found.setdefault(issue, []).append(standing)
    return [Match(issue, tuple(found[issue])) for issue in sorted(found, key=lambda each: natural(each.id))]


def brief(results: Results) -> Shown:
    """A line a report."""
    rows = tuple((named(each.issue), _measured(each), _sources(each)) for each in matches(results))
    return Shown("Known issues", ("reported upstream", "measured here", "sources"), rows, EMPTY, NOTE)


def table(results: Results) -> Shown:
    """With the range of versions, its state and the way around it."""
    rows = tuple(
        (named(each.issue), span(each.issue), _state(each.issue), _measured(each), _sources(each))
        for each in matches(results)
    )
    heads = ("reported upstream", "for", "state there", "measured here", "sources")
    return Shown("Known issues", heads, rows, EMPTY, NOTE)


def _reports(issues: list[Issue], result: Result) -> list[Issue]:
    sm, versions = sm_of(result), versions_in(result.provenance.get("environment"))
    if sm is None or not versions:
        return []
    api = str(result.found.get("api", "")) or None
    return known_issues.match(issues, kernel=result.trial.kernel, function=api, sm=sm, versions=versions)


def sm_of(result: Result) -> int | None:
    """9.0 is 90, 10.3 is 103."""
    return whole(str(part(result.provenance, "gpu", "sm") or "").replace(".", "", 1))


def versions_in(lock: Any) -> dict[str, str]:
    """Package -> version of an environment's record."""
    held = (part(lock, kind) for kind in ("inherited", "packages"))
    return {
        name: version
        for each in held if isinstance(each, dict)
        for name, version in each.items() if isinstance(version, str)
    }  # fmt: skip


def named(issue: Issue) -> Cell:
    """What the report says, and how sure it is."""
    text = f"{issue.id}, {issue.confidence} confidence: {plain(issue.what, MESSAGE)}"
    return Cell.of(f"reported: {text}", f'<span class="reported">{escaped(text, MESSAGE)}</span>')


def span(issue: Issue) -> str:
    """The versions and GPU families that it is about."""
    packages = [f"{name} {wanted or 'any'}" for name, wanted in issue.packages.items()]
    families = [f"SM{sm}" for sm in issue.sm]
    exact = "" if issue.precise else "about "
    return exact + ", ".join([*packages, *families])


def _state(issue: Issue) -> str:
    fixed = f", fixed in {issue.fixed_in}" if issue.fixed_in else ""
    return issue.state + fixed + (f"; way around it: {issue.workaround}" if issue.workaround else "")


def _measured(found: Match) -> Cell:
    """One line a word; environments are named where they do not all say the same."""
    by_environment: dict[str, Match] = {}
    for name in dict.fromkeys(each.result.trial.environment for each in found.standings):
        of_it = (each for each in found.standings if each.result.trial.environment == name)
        by_environment[name] = Match(found.issue, tuple(of_it))
    lines = []
    words = dict.fromkeys(each.word for each in by_environment.values())
    for word in words:
        names = [name for name, each in by_environment.items() if each.word == word]
        alike = tuple(each for name in names for each in by_environment[name].standings)
        lines.append(_line(Match(found.issue, alike), names if len(words) > 1 else []))
    return stacked(lines)


def _line(found: Match, names: Iterable[str]) -> Cell:
    where = f" in {', '.join(map(plain, names))}" if names else ""
    rest = f": {found.counts}{where}"
    return Cell.of(found.word + rest, f"<b>{found.word}</b>{escaped(rest, MESSAGE)}")


def _sources(found: Match) -> Cell:
    return links(found.issue.sources)


def _trials(standings: Iterable[Standing]) -> str:
    count = len(list(standings))
    return f"{count} trial{'s' * (count != 1)}"
