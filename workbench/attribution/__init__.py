"""What stored attempts say about a fault, as three things apart: where it faults, what flips it, who could fix it.

Pure: results in, a dict out, each part with its evidence (ids of trials) or the text "not known". Nothing is said
beyond the attempts that are given: not of crashes elsewhere, and not of what was never run.
"""

from collections.abc import Iterable

from workbench.results import Result, Results, Standing, Trial

from .flips import Flip, flips, is_fault
from .lock import components
from .where import NOT_KNOWN, Part, where
from .who import who

__all__ = ["NOT_KNOWN", "Flip", "Part", "attribute", "not_needed"]

RECORDED = (
    "flashinfer-python",
    "flashinfer-cubin",
    "flashinfer-jit-cache",
    "apache-tvm-ffi",
    "sglang",
    "vllm",
)
"""Packages that every environment's record names where they are installed, so that none means absence."""


def attribute(results: Iterable[Result], trial: Trial) -> dict[str, Part]:
    """`{"where", "flips", "who"}` of a trial that faults, from all attempts at it and at its neighbours."""
    every = list(results)
    own = [each for each in every if each.trial == trial]
    standings = Results(tuple(every)).trials()
    place = where(own)
    changes = flips(trial, standings) if trial in standings else []
    found: Part = {"changes": changes, "evidence": _ids(changes)} if changes else NOT_KNOWN
    return {"where": place, "flips": found, "who": who(own, place, changes)}


def not_needed(results: Iterable[Result], trial: Trial) -> dict[str, list[str]]:
    """Package -> ids of trials that show the same fault in an environment without it. Nothing else may be left out."""
    standings = Results(tuple(results)).trials()
    if trial not in standings:
        return {}
    here = standings[trial]
    same = [each for each in standings.values() if _same_fault(each, here)]
    there = {name for each in standings.values() for name in components(each.result)}
    found = {
        name: [each.result.trial.id for each in same if name not in components(each.result)]
        for name in RECORDED
    }
    return {name: ids for name, ids in found.items() if ids and name in there}


def _same_fault(one: Standing, other: Standing) -> bool:
    mine, its = one.result, other.result
    same = (mine.trial.kernel, mine.reason, mine.trial.case) == (its.trial.kernel, its.reason, its.trial.case)
    return same and is_fault(one) and is_fault(other)


def _ids(flips: Iterable[Flip]) -> list[str]:
    return list(dict.fromkeys(each[side] for each in flips for side in ("faults", "right")))
