"""GPU families that no trial ran on: not measured, how far a call was followed for them, and what others reported.

A report that names no family is not listed here: `reported` shows it beside the trials that it may be about.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from workbench import known_issues
from workbench.gpus import COMPILED_ONLY
from workbench.known_issues import Issue
from workbench.planned import is_declared
from workbench.reported import UNTRIED, named, sm_of, span
from workbench.results import Outcome, Result, Results, Standing
from workbench.showing import legend
from workbench.showing.cells import Cell, links, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, escaped, natural, plain

FAMILIES = (90, 100, 103, 120, 121)
NOTE = (
    "Followed is a call that was made for a GPU that is not there, compiled or to the stage where it could go no "
    "further; nothing was computed. Not called are trials (in brackets how many) whose kernel file says that the "
    "library has nothing for that family: no finding of ours. Reported is what others wrote of that kernel on that "
    "family, by its id in workbench/known_issues.json; those of families without any trial are told below."
)
EMPTY = "Trials ran here on every GPU family that a known issue names."


def by_family(results: Results, followed: Results) -> Shown:
    """Each kernel on each family: how many trials ran; where none did, how far it was followed, and who reported."""
    ran, tried = _by_kernel(results), _by_kernel(followed)
    rows = []
    for kernel in sorted({kernel for kernel, _ in (*ran, *tried)}):
        squares = (
            _square(kernel, sm, ran.get((kernel, sm), ()), tried.get((kernel, sm), ())) for sm in FAMILIES
        )
        rows.append((plain(kernel), *squares))
    heads = ("kernel", *(f"SM{sm}" for sm in FAMILIES))
    return Shown("Kernels and families", heads, tuple(rows), note=NOTE)


def _by_kernel(results: Results) -> dict[tuple[str, int | None], list[Standing]]:
    found: dict[tuple[str, int | None], list[Standing]] = {}
    for each in results.trials().values():
        found.setdefault((each.result.trial.kernel, _family(each.result)), []).append(each)
    return found


def _family(result: Result) -> int | None:
    """A GPU that is not there has no properties; its name says the family."""
    pretended = re.fullmatch(rf"SM(\d{{2,3}}), {COMPILED_ONLY}", result.trial.gpu)
    return int(pretended[1]) if pretended else sm_of(result)


def _square(kernel: str, sm: int, ran: Iterable[Standing], tried: Iterable[Standing]) -> Cell:
    ran, tried = list(ran), list(tried)
    if measured := [each for each in ran if _called(each)]:
        return stacked([f"measured: {legend.tally(measured)}"])
    refused = sum(is_declared(each.result) for each in (*ran, *tried))
    counts = Counter(_came_to(each) for each in tried if not is_declared(each.result))
    lines: list[str] = [Cell.of("not measured", "<b>not measured</b>")]
    lines += [f"not called: by its file the library has none here ({refused})"] if refused else []
    lines += [f"followed: {', '.join(f'{n} {what}' for what, n in counts.items())}"] if counts else []
    ids = [issue.id for issue in known_issues.load() if issue.shown and sm in issue.sm and _of(issue, kernel)]
    return stacked([*lines, f"reported: {', '.join(ids)}"] if ids else lines)


def _called(standing: Standing) -> bool:
    return standing.outcome not in UNTRIED and not is_declared(standing.result)


def _came_to(standing: Standing) -> str:
    if standing.outcome != Outcome.NOT_RUN:
        return legend.word(standing)
    return f"as far as {plain(standing.result.stage, 20) or 'nothing'}"


def _of(issue: Issue, kernel: str) -> bool:
    """A report of expert layers is one of each number type's."""
    return any(kernel == each or kernel.startswith(f"{each}_") for each in issue.kernels)


def unmeasured(results: Results, kernels: Collection[str] = ()) -> Shown:
    """The reports of such families, of `kernels` or of all."""
    ran = {sm_of(each.result) for each in results.trials().values() if _called(each)}
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
