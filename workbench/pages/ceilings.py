"""How near a time is to the physical floor: by the datasheet, and by what this card was seen to reach.

The ceilings (copy, bf16 matrix product) are measured by each process that takes turns with others, so only trials
measured by turns have them. Bytes and operations are those of the kernel's file, as long as they still give the
floor that was stored.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from workbench import gpus, kernels
from workbench.results import Outcome, Result, Results, Standing, Trial
from workbench.showing.plot import rounded
from workbench.showing.shown import Shown
from workbench.showing.timings import LAUNCH_BOUND_US, place
from workbench.untrusted import natural, number, part, plain

HEADS = (
    "kernel", "case", "mode", "environment", "median_us", "floor_us", "share of nominal floor",
    "share of measured ceiling", "processes", "visits",
)  # fmt: skip
EMPTY = (
    "Nothing was measured by turns yet, and only such runs measure what the card reaches: "
    "`workbench run --interleave ...`."
)
LAUNCH_BOUND = "launch-bound"


@dataclass(frozen=True)
class Visited:
    """A trial with its visits by turns, all of one version."""

    trial: Trial
    visits: tuple[Result, ...]

    @cached_property
    def median_us(self) -> float | None:
        return self._middle("median_us")

    @cached_property
    def floor_us(self) -> float | None:
        return self._middle("floor_us")

    @property
    def processes(self) -> int:
        return len({(visit.run, visit.arm, visit.generation) for visit in self.visits})

    @cached_property
    def measured_floor_us(self) -> float | None:
        """The floor by the measured ceilings; None where none was measured for what sets it, such as fp8."""
        cost, copy, bf16 = self._cost(), self._ceiling("copy_tb_s"), self._ceiling("bf16_tflop_s")
        if cost is None or copy is None or bf16 is None:
            return None
        memory_us, bf16_us = cost.get("bytes", 0) / (copy * 1e6), cost.get("flops", 0) / (bf16 * 1e6)
        if cost.get("unit", "bf16") == "bf16":
            return max(memory_us, bf16_us)
        by_memory = gpus.floor_us({**cost, "flops": 0}, self.trial.gpu) == gpus.floor_us(cost, self.trial.gpu)
        return memory_us if by_memory else None

    def _cost(self) -> Mapping[str, Any] | None:
        with suppress(Exception):  # a kernel of the user's own, or a case that its file no longer has
            cost: Mapping[str, Any] = kernels.get(self.trial.kernel).cost(**self.trial.case)
            if gpus.floor_us(cost, self.trial.gpu) == self.floor_us:
                return cost
        return None

    def _middle(self, name: str) -> float | None:
        return _median([number(visit.time, name) for visit in self.visits])

    def _ceiling(self, name: str) -> float | None:
        told = (part(visit.time, "ceilings") for visit in self.visits)
        return _median([number(each, name) for each in told if isinstance(each, dict)])


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def ceilings(results: Results) -> Shown:
    """A row for each trial that was measured by turns; medians over its visits."""
    found = sorted(visited(results), key=lambda each: (natural(each.trial.kernel), place(each.trial)))
    rows = tuple(_row(each) for each in found if each.median_us and each.floor_us)
    gpus_seen = ", ".join(dict.fromkeys(plain(each.trial.gpu, 40) for each in found))
    return Shown(f"Share of the floor, {gpus_seen}", HEADS, rows, EMPTY, _note(found) if rows else "")


def visited(results: Results) -> list[Visited]:
    """Steady trials with visits by turns that know the card's ceilings, those of the newest version."""
    standings = results.trials()
    visits: dict[Trial, list[Result]] = {}
    for result in results:
        standing = standings[result.trial]
        if standing.outcome == Outcome.OK and not result.rerun and _counts(result, standing):
            visits.setdefault(result.trial, []).append(result)
    return [Visited(trial, tuple(members)) for trial, members in visits.items()]


def _counts(result: Result, standing: Standing) -> bool:
    newest = standing.result
    same = result.kernel_hash == newest.kernel_hash and result.environment_hash == newest.environment_hash
    return same and result.generation > 0 and isinstance(part(result.time, "ceilings"), dict)


def _row(each: Visited) -> tuple[str, ...]:
    trial, floor_us = each.trial, each.floor_us
    names = (plain(trial.kernel), plain(trial.label, 300), plain(trial.mode, 30), plain(trial.environment))
    bound = floor_us is not None and floor_us < LAUNCH_BOUND_US
    shares = [_share(each, floor, bound) for floor in (floor_us, each.measured_floor_us)]
    counts = str(each.processes), str(len(each.visits))
    return (*names, rounded(each.median_us), rounded(floor_us), *shares, *counts)


def _share(each: Visited, floor_us: float | None, bound: bool) -> str:
    if bound:
        return LAUNCH_BOUND
    return f"{floor_us / each.median_us:.0%}" if floor_us and each.median_us else "-"


def _note(found: list[Visited]) -> str:
    return (
        f"This card reached {_span(found, 'copy_tb_s')} TB/s in a copy (read and written) and "
        f"{_span(found, 'bf16_tflop_s')} TFLOP/s in a bf16 matrix product; each process measured both. Where the "
        f"floor is under {LAUNCH_BOUND_US:g} us a call is {LAUNCH_BOUND}: a launch takes longer than that, so a share "
        "says nothing. A - means that no ceiling was measured for what sets the floor."
    )


def _span(found: list[Visited], name: str) -> str:
    told = (number(visit.time["ceilings"], name) for each in found for visit in each.visits)
    known = [value for value in told if value is not None]
    return f"{rounded(min(known))} to {rounded(max(known))}" if known else "-"
