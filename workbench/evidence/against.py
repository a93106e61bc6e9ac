"""What speaks against an environment: trials that ended alike, with the same message, in one row."""

from workbench.evidence.facts import found_nothing, ids
from workbench.results import Results, Standing
from workbench.showing import legend
from workbench.showing.cells import chip, stacked
from workbench.showing.shown import Shown
from workbench.untrusted import MESSAGE, natural, normalised, plain

HEADS = ("kernel", "how it ended", "trials", "environments", "ids")
MOST_NAMED = 6
EMPTY = "Nothing that is stored speaks against an environment. `workbench run` measures, `workbench show` lists it."
NOTE = (
    "The message is that of the first trial; messages that differ in addresses and numbers alone are one group. "
    "`workbench show --json` has every trial by its id."
)


def against(results: Results) -> Shown:
    """By kernel, reason class, stage and message; the largest group of a kernel first."""
    groups: dict[tuple[str, ...], list[Standing]] = {}
    for standing in results.trials().values():
        if standing.against:
            groups.setdefault(_alike(standing), []).append(standing)
    ordered = sorted(groups.items(), key=lambda item: (natural(item[0][0]), -len(item[1]), item[0]))
    return Shown(
        "What speaks against an environment", HEADS, tuple(_row(*item) for item in ordered), EMPTY, NOTE
    )


def _alike(standing: Standing) -> tuple[str, ...]:
    result = standing.result
    return (
        plain(result.trial.kernel), legend.sign(result.outcome, result.reason), plain(result.reason, 60),
        plain(result.stage, 30), normalised(result.detail),
    )  # fmt: skip


def _row(alike: tuple[str, ...], members: list[Standing]) -> tuple[str, ...]:
    kernel, sign, reason, stage, _ = alike
    message = plain(members[0].result.detail, MESSAGE)
    flaky = sum(each.flaky for each in members)
    count = f"{len(members)}" + (f", {flaky} flaky" if flaky else "")
    environments = sorted({each.result.trial.environment for each in members}, key=natural)
    modes = sorted({plain(each.result.trial.mode, 30) for each in members})
    doubts = {found_nothing(each.result) for each in members}
    doubt = [each for each in sorted(doubts) if each not in message] if "" not in doubts else []
    how = stacked([chip(members[0].outcome, f"{sign} {reason}"), f"at {stage}", message, *doubt])
    trials = stacked([count, *modes])
    more = len(environments) - MOST_NAMED
    named = [*map(plain, environments[:MOST_NAMED]), *([f"and {more} more"] if more > 0 else [])]
    return kernel, how, trials, stacked(named), ids(members)
