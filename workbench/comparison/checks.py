"""What forbids a ratio, and what keeps one from deciding: everything but the times themselves."""

import math
from statistics import fmean

from workbench.comparison.estimate import Figures, estimate
from workbench.comparison.rules import (
    CLOCKS_APART,
    DEFAULT,
    EVENTS_FROM_US,
    GRAPH_WITHIN,
    HOST_FREE_US,
    HOST_TIMERS,
    IN_SEQUENCE,
    Rule,
)
from workbench.comparison.sides import Gathered, Place, Question
from workbench.results import device
from workbench.tactics import is_tuned


def refusals(before: Gathered, after: Gathered, at: Place) -> list[str]:
    """Why there is no ratio, for two sides that both have times at one place."""
    both = [*before.timed, *after.timed]
    run, card = at
    found = {
        "run unknown": not run,
        "card unknown": not card,
        "environment changed": any(
            len({each.environment_hash for each in side.timed}) > 1 for side in (before, after)
        ),
        "other kernel file": len({each.kernel_hash for each in both if each.kernel_hash}) > 1,
        "other inputs": len({each.inputs_hash for each in both if each.inputs_hash}) > 1,
        "other timer": len(before.said("timer") | after.said("timer")) > 1,
        "other cache state": len(before.said("l2") | after.said("l2")) > 1,
    }
    return [reason for reason, holds in found.items() if holds]


def apart(before: dict[Place, Gathered], after: dict[Place, Gathered]) -> list[str]:
    """Why two sides have no place in common."""
    timed = [{place for place, each in side.items() if each.timed} for side in (before, after)]
    empty = [
        reason
        for places, reason in zip(timed, ("no time before", "no time after"), strict=True)
        if not places
    ]
    same_run = {run for run, _ in timed[0]} & {run for run, _ in timed[1]}
    return empty or ["different cards" if same_run else "different runs"]


def shifts(before: Gathered, after: Gathered, rule: Rule) -> dict[str, float]:
    """What the card's own state may have added to the ratio's logarithm, where it was not the same for both sides.

    No time falls faster than the clock rises. Under a power limit it is the faster kernel that has the lower clock.
    """
    states = {
        "clocks": ("sm_mhz", "clocks", CLOCKS_APART, -1),
        "memory clocks": ("memory_mhz", "clocks", CLOCKS_APART, -1),
        "anchor": ("anchor_us", "", rule.margin, 1),
    }
    found = {
        reason: sign * _gap(before.by_process(name, within), after.by_process(name, within), share)
        for reason, (name, within, share, sign) in states.items()
    }
    return {reason: added for reason, added in found.items() if added}


def _gap(before: Figures, after: Figures, share: float) -> float:
    """With its noise, if it is more than `share`, also without the noise; else 0.

    A clock is read once a visit, and jumps by 4 % between visits that take the same time. Too few processes show no
    noise: a gap of theirs may be of any size, to its own side.
    """
    if not before or not after:
        return 0.0
    gap = fmean(after.values()) - fmean(before.values())
    found = estimate(before, after, may_pair=False, fewest=DEFAULT.fewest)
    if abs(gap) - (found.half_width if found else 0.0) <= math.log1p(share):
        return 0.0
    return gap + math.copysign(found.half_width if found else math.inf, gap)


def notes(before: Gathered, after: Gathered) -> list[str]:
    """What must be said beside the word, whatever it is."""
    both = (before, after)
    launched = [side.kernels for side in both]
    chosen = [{each.tactic for each in side.tunings} for side in both]
    on_gpu = device(before.attempts[0].trial.gpu) == "gpu"
    found = {
        "another kernel ran": all(launched) and not launched[0] & launched[1],
        "kernels vary": any(len(each) > 1 for each in launched),
        "tactics vary": any(len(each) > 1 for each in chosen),
        "other tactics": all(chosen) and not chosen[0] & chosen[1],
        "throttled": any(side.throttled for side in both),
        "clocks unknown": on_gpu and not all(side.middle("sm_mhz", within="clocks") for side in both),
        "flaky": any(side.flaky for side in both),
        "unbalanced": before.visits != after.visits and sum(map(len, (before.visits, after.visits))) > 2,
        IN_SEQUENCE: any(IN_SEQUENCE in each.marks for side in both for each in side.timed),
    }
    return [reason for reason, holds in found.items() if holds]


def by_host(timed: Gathered, others: dict[Question, Gathered], asked: Question) -> bool:
    """Whether the time may hold the host's work; `others` are the side's other trials at the same place.

    On the CPU the host's work is what is measured.
    """
    if device(asked[3]) == "cpu":
        return False
    timers = timed.said("timer")
    if not timers & set(HOST_TIMERS):
        return False
    time_us = timed.time_us or 0.0
    if "host_clock" in timers or time_us < EVENTS_FROM_US:
        return True
    kernel, case, mode, gpu = asked
    device_us = [
        each.time_us
        for (a_kernel, a_case, a_mode, a_gpu), each in others.items()
        if (a_kernel, a_case, a_gpu) == (kernel, case, gpu)
        and is_tuned(a_mode) == is_tuned(mode)
        and each.time_us
        and not each.said("timer") & set(HOST_TIMERS)
    ]
    if device_us:
        return time_us > GRAPH_WITHIN * min(device_us)
    return time_us < HOST_FREE_US
