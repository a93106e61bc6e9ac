"""What flips it: a trial that faults beside one that is right, and exactly one thing differs between them."""

from collections.abc import Mapping
from typing import Any

from workbench import reruns
from workbench.results import Outcome, Results, Standing, Trial

from .lock import components, differences

Flip = Mapping[str, Any]
"""kind (component or input), name, faults_with, right_with, and the ids of the two trials as faults and right."""


Neighbours = Mapping[tuple[str, ...], Mapping[Trial, Standing]]
"""Kernel, GPU and mode -> its trials."""


def neighbours(results: Results) -> Neighbours:
    found: dict[tuple[str, ...], dict[Trial, Standing]] = {}
    for trial, standing in results.trials().items():
        found.setdefault((trial.kernel, trial.gpu, trial.mode), {})[trial] = standing
    return found


def flips(trial: Trial, near: Neighbours) -> list[Flip]:
    """Pairs that differ in one component of the lock, or in one key of the case: one faults, the other is right."""
    alike = near[trial.kernel, trial.gpu, trial.mode]
    here = alike[trial]
    crossed = [each for each in alike.values() if _opposite(here, each)]
    return [change for each in crossed if (change := _single_change(here, each))]


def _opposite(here: Standing, there: Standing) -> bool:
    return {_state(here), _state(there)} == {"faults", "right"}


def _state(standing: Standing) -> str:
    if standing.flaky:
        return "flaky"
    if standing.outcome == Outcome.OK:
        return "right"
    return "faults" if is_fault(standing) else "other"


def is_fault(standing: Standing) -> bool:
    return standing.outcome == Outcome.CRASHED or reruns.faulted(standing.result)


def _single_change(here: Standing, there: Standing) -> Flip | None:
    one, other = here.result.trial, there.result.trial
    if here.result.kernel_hash != there.result.kernel_hash:
        return None
    inputs = list(differences(one.case, other.case))
    parts = list(differences(components(here.result), components(there.result)))
    if len(inputs) + len(parts) != 1:
        return None
    if not parts and here.result.environment_hash != there.result.environment_hash:
        return None  # something differs that the record has no name for
    kind, (name, mine, its) = ("component", parts[0]) if parts else ("input", inputs[0])
    faults, right = (one, other) if _state(here) == "faults" else (other, one)
    values = (mine, its) if faults is one else (its, mine)
    return {
        "kind": kind,
        "name": name,
        "faults_with": values[0],
        "right_with": values[1],
        "faults": faults.id,
        "right": right.id,
    }
