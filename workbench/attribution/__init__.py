"""What stored attempts say about a fault, as three things apart: where it faults, what flips it, who could fix it.

Pure: results in, a dict out, each part with its evidence (ids of trials) or the text "not known". Nothing is said
beyond the attempts that are given: not of crashes elsewhere, and not of what was never run.
"""

import json
from collections.abc import Iterable

from workbench.results import Result, Results, Standing, Trial

from .flips import Flip, flips, is_fault
from .lock import components, lacks
from .near import Near
from .where import NOT_KNOWN, Part, where
from .who import who

__all__ = ["NOT_KNOWN", "Attribution", "Flip", "Part", "attribute", "not_needed"]

RECORDED = (
    "flashinfer-python",
    "flashinfer-cubin",
    "flashinfer-jit-cache",
    "apache-tvm-ffi",
    "sglang",
    "vllm",
)
"""Packages that every environment's record names where they are installed, so that none means absence."""


class Attribution:
    """What all attempts that are given say, ordered once for many questions."""

    def __init__(self, results: Iterable[Result]) -> None:
        every = list(results)
        self.standings = Results(tuple(every)).trials()
        self.near = Near(self.standings)
        self.own: dict[Trial, list[Result]] = {}
        for each in every:
            self.own.setdefault(each.trial, []).append(each)
        self.faults: dict[str, list[Standing]] = {}
        for standing in filter(is_fault, self.standings.values()):
            self.faults.setdefault(_fault(standing), []).append(standing)
        self.there = {name for each in self.standings.values() for name in components(each.result)}

    def of(self, trial: Trial) -> dict[str, Part]:
        """`{"where", "flips", "who"}` of a trial that faults."""
        own = self.own.get(trial, [])
        place = where(own)
        changes = flips(trial, self.near.opposite(trial)) if own else []
        found: Part = {"changes": changes, "evidence": _ids(changes)} if changes else NOT_KNOWN
        return {"where": place, "flips": found, "who": who(own, place, changes)}

    def not_needed(self, trial: Trial) -> dict[str, list[str]]:
        """Package -> ids of trials that show the same fault in an environment without it."""
        here = self.standings.get(trial)
        same = self.faults.get(_fault(here), []) if here and is_fault(here) else []
        found = {
            name: [each.result.trial.id for each in same if lacks(each.result, name)] for name in RECORDED
        }
        return {name: ids for name, ids in found.items() if ids and name in self.there}


def attribute(results: Iterable[Result], trial: Trial) -> dict[str, Part]:
    """`{"where", "flips", "who"}` of a trial that faults, from all attempts at it and at its neighbours."""
    return Attribution(results).of(trial)


def not_needed(results: Iterable[Result], trial: Trial) -> dict[str, list[str]]:
    """Package -> ids of trials that show the same fault in an environment without it. Nothing else may be left out."""
    return Attribution(results).not_needed(trial)


def _fault(standing: Standing) -> str:
    result = standing.result
    trial = result.trial  # in another mode the same reason may be another fault
    return json.dumps([trial.kernel, result.reason, trial.mode, trial.case], sort_keys=True)


def _ids(flips: Iterable[Flip]) -> list[str]:
    return list(dict.fromkeys(each[side] for each in flips for side in ("faults", "right")))
