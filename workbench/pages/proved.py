"""What the verdict said of versions in which a change was planted, each beside the version it was made from."""

import re
from collections.abc import Iterator

from workbench.results import Results
from workbench.showing.cells import stacked
from workbench.showing.shown import Shown
from workbench.untrusted import plain
from workbench.verdict import Pair, Verdict, judge
from workbench.verdict.word import AGAINST

MARK = re.compile(r"\+[\w.]+")  # of a local version: 0.6.11.post1+slower
EMPTY = "No wheel with a planted change was checked: `python benchmarks/planted_checks.py` does so on a GPU."


def proved(*sittings: Results) -> Shown:
    """A row for each planted version of each sitting, if the version that it was made from was measured too."""
    heads = ("candidate", "first run", "answer", "named", "run again", "others")
    rows = tuple(row for results in sittings for row in _rows(results))
    return Shown("What the verdict said of each planted change", heads, rows, EMPTY)


def _rows(results: Results) -> Iterator[tuple[str, ...]]:
    names = list(dict.fromkeys(each.trial.environment for each in results))
    for name in names:
        baseline = MARK.sub("", name)
        if baseline != name and baseline in names:
            first = min(each.run for each in results if each.trial.environment == name)
            yield _row(name, first, judge(results.only(environment=[baseline, name]), baseline, name))


def _row(name: str, first: str, verdict: Verdict) -> tuple[str, ...]:
    pairs = [pair for family in verdict.families for pair in family.pairs]
    named = [pair for pair in pairs if pair.word in AGAINST]
    others = [str(pair.word) for pair in pairs if pair.word not in AGAINST]
    return (
        plain(name, 120),
        plain(first, 40),
        str(verdict.answer),
        stacked(_named(pair) for pair in named) if named else "nothing",
        stacked(_again(pair) for pair in named) if named else "-",
        ", ".join(f"{others.count(word)} {word}" for word in dict.fromkeys(others)) or "none",
    )


def _named(pair: Pair) -> str:
    return plain(f"{pair.trial.id} {pair.trial.label}: {pair.word}: {pair.why}", 300)


def _again(pair: Pair) -> str:
    return {True: "came again", False: "did not come again", None: "not run again"}[pair.again]
