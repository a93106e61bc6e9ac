"""What stored attempts say about a fault, as three things apart: where it faults, what flips it, who could fix it.

Pure: results in, a dict out, each part with its evidence (ids of trials) or the text "not known". Nothing is said
beyond the attempts that are given: not of crashes elsewhere, and not of what was never run.
"""

from collections.abc import Iterable

from workbench.results import Result, Results, Standing, Trial

from .flips import Flip, flips, is_fault, neighbours
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
    results = results if isinstance(results, Results) else Results(tuple(results))
    own = results.by_trial().get(trial, ())
    place = where(own)
    changes = flips(trial, results.once("neighbours", neighbours)) if own else []
    found: Part = {"changes": changes, "evidence": _ids(changes)} if changes else NOT_KNOWN
    return {"where": place, "flips": found, "who": who(own, place, changes)}


def not_needed(results: Iterable[Result], trial: Trial) -> dict[str, list[str]]:
    """Package -> ids of trials that show the same fault in an environment without it. Nothing else may be left out."""
    results = results if isinstance(results, Results) else Results(tuple(results))
    standings = results.trials()
    if trial not in standings:
        return {}
    here = standings[trial]
    same = results.once("by fault", _by_fault).get(_fault(here), ()) if is_fault(here) else ()
    there = results.once("packages", _packages)
    found = {
        name: [each.result.trial.id for each in same if name not in components(each.result)]
        for name in RECORDED
    }
    return {name: ids for name, ids in found.items() if ids and name in there}


def _by_fault(results: Results) -> dict[tuple[str, ...], list[Standing]]:
    found: dict[tuple[str, ...], list[Standing]] = {}
    for each in filter(is_fault, results.trials().values()):
        found.setdefault(_fault(each), []).append(each)
    return found


def _fault(standing: Standing) -> tuple[str, ...]:
    """The same for the same fault of one case, whatever the environment."""
    result = standing.result
    return result.trial.kernel, result.reason, result.trial.case_text


def _packages(results: Results) -> set[str]:
    return {name for each in results.trials().values() for name in components(each.result)}


def _ids(flips: Iterable[Flip]) -> list[str]:
    return list(dict.fromkeys(each[side] for each in flips for side in ("faults", "right")))
