"""GPU families that no trial ran on: not measured, and what others reported of them.

A report that names no family is not listed here: `reported` shows it beside the trials that it may be about.
"""

from collections.abc import Collection

from workbench import known_issues
from workbench.known_issues import Issue
from workbench.reported import UNTRIED, named, sm_of, span
from workbench.results import Results
from workbench.showing.cells import Cell, links
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, escaped, natural

EMPTY = "Trials ran here on every GPU family that a known issue names."


def unmeasured(results: Results, kernels: Collection[str] = ()) -> Shown:
    """The reports of such families, of `kernels` or of all."""
    ran = {sm_of(each.result) for each in results.trials().values() if each.outcome not in UNTRIED}
    rows = []
    for issue in sorted(known_issues.load(), key=lambda each: natural(each.id)):
        families = [f"SM{sm}" for sm in issue.sm if sm not in ran]
        if families and issue.shown and _about(issue, kernels):
            rows.append((named(issue), span(issue), _not_measured(families), links(issue.sources)))
    heads = ("reported upstream", "for", "measured here", "sources")
    return Shown("Families without a trial", heads, tuple(rows), EMPTY)


def _about(issue: Issue, kernels: Collection[str]) -> bool:
    return not kernels or not issue.kernels or bool(set(kernels) & set(issue.kernels))


def _not_measured(families: list[str]) -> Cell:
    rest = f": no trial ran on {', '.join(families)}"
    return Cell.of("not measured" + rest, f"<b>not measured</b>{escaped(rest, MESSAGE)}")
