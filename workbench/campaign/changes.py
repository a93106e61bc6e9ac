"""Which change flips which outcome: one row a change, in all pairs of trials that differ in nothing else."""

from itertools import groupby

from workbench.campaign.single import LEVEL, MOST_VALUES, Single, fails, singles
from workbench.evidence.facts import few
from workbench.results import Results
from workbench.showing.shown import Shown, Tables
from workbench.untrusted import plain

INPUTS = ("pad_scales", "hidden", "intermediate")
HEADS = (
    "what differs", "so it", "mode", "pairs", "both right", "both fail", "first alone", "second alone", "ids",
)  # fmt: skip
EMPTY = (
    "No two trials that are stored differ in one thing alone. `workbench run` with environments that share all but one "
    "package, or with cases that share all but one input, makes such pairs."
)
NOTE = (
    "A trial fails where some process of it was wrong, crashed or hung; of the two of a pair, as many processes are "
    "looked at as both have. A change flips an outcome where the pairs that differ lean one way by more than a coin "
    f"would (sign test, {LEVEL:.0%}: six of six do, five of five do not). Pairs share trials, so they are not as "
    "independent as the test takes them to be. In brackets what the processes had loaded; a package that was not "
    f"could hardly change anything. Of more than {MOST_VALUES} values each is paired with the next alone."
)


def changes(results: Results) -> Tables:
    """A table a kernel; what each change does is said in words."""
    found = groupby(singles(results, INPUTS), key=lambda each: each.kernel)
    tables = [
        Shown(f"{plain(kernel)}: one change at a time", HEADS, tuple(map(_row, some)), "", NOTE)
        for kernel, some in found
    ]
    return Tables(tables or [Shown("", (), (), EMPTY)])


def _row(single: Single) -> tuple[str, ...]:
    counts = [single.count(*each) for each in ((False, False), (True, True), (True, False), (False, True))]
    loaded = f" [{plain(single.loaded, 60)}]" if single.loaded else ""
    mode = plain(single.mode or "-")
    return (
        change(single) + loaded,
        said(single),
        mode,
        str(len(single.pairs)),
        *map(str, counts),
        evidence(single),
    )


def change(single: Single) -> str:
    """`hidden: 2880 to 3072`."""
    before, after = (plain(value, 60) for value in single.values)
    return f"{plain(single.name or single.kind, 60)}: {before} to {after}"


def said(single: Single) -> str:
    if single.flips:
        return f"flips it: fails with {plain(single.flips, 60)}"
    if single.nothing:
        return "flips nothing"
    return "is right with both" if not _differ(single) else "may be chance"


def _differ(single: Single) -> int:
    return single.count(True, False) + single.count(False, True)


def evidence(single: Single) -> str:
    """The trials of the pairs that say most: those that differ first, then those that fail."""
    told = sorted(single.pairs, key=lambda pair: (fails(pair)[0] == fails(pair)[1], -sum(fails(pair))))
    return few(list(dict.fromkeys(point.trial.id for pair in told for point in pair)))
