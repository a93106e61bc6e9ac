"""A trial in a forensic mode, its reruns, and the same call in planned modes beside it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from workbench.evidence.facts import Fault, Touch, edge, fault, findings, not_fenced, only, unnarrowed
from workbench.results import FORENSIC_MODES, Outcome, Result, Results, Standing, Trial

NARROWED = "narrowed"
EXPLAINING = ("located", NARROWED)  # a regression that was run again is a rerun, too, and explains no fault


@dataclass(frozen=True)
class Probe:
    """`planned` are the trials of the same kernel, case, environment and GPU in other than forensic modes."""

    standing: Standing
    reruns: tuple[Result, ...]
    planned: tuple[Standing, ...]

    @property
    def trial(self) -> Trial:
        return self.standing.result.trial

    @cached_property
    def fault(self) -> Fault | None:
        return fault([self.standing.result, *self.reruns])

    @cached_property
    def alone(self) -> dict[str, list[bool]]:
        """Tensor -> for each narrowed rerun that fenced it alone, whether it faulted."""
        tried: dict[str, list[bool]] = {}
        for rerun in self.reruns:
            if name := _fenced_alone(rerun):
                tried.setdefault(name, []).append(rerun.outcome == Outcome.CRASHED)
        return tried

    @cached_property
    def touched(self) -> list[Touch]:
        """What the sanitizer saw, or which fences were run into; one without a tensor where nothing was narrowed."""
        result = self.standing.result
        if seen := findings(result):
            return seen
        guilty = [name for name, faults in self.alone.items() if any(faults)]
        if not guilty and result.reason != "illegal_memory_access":
            return []
        kernel, by = (self.fault.kernel, self.fault.by) if self.fault else ("", "")
        if not guilty:
            return [Touch("", unnarrowed(result), "", kernel, by)]
        return [Touch(name, edge(result), "", kernel, by) for name in guilty]

    @property
    def latent(self) -> bool:
        """A fault that the same call does not show as it is planned."""
        return bool(self.touched and self.planned) and all(
            each.outcome == Outcome.OK for each in self.planned
        )


def probes(results: Results) -> list[Probe]:
    """One for each trial in a forensic mode, in the order of the results."""
    standings = results.trials()
    planned: dict[str, list[Standing]] = {}
    for trial, standing in standings.items():
        if trial.mode not in FORENSIC_MODES:
            planned.setdefault(_call(trial), []).append(standing)
    reruns = rerun_of(results)
    return [
        Probe(standing, tuple(reruns.get(trial, ())), tuple(planned.get(_call(trial), ())))
        for trial, standing in standings.items()
        if trial.mode in FORENSIC_MODES
    ]


def _fenced_alone(rerun: Result) -> str:
    """The one tensor that a narrowed attempt fenced; empty where it did not run, or never met that tensor."""
    names, unmet = only(rerun), [str(each.get("name")) for each in not_fenced(rerun)]
    ran = rerun.rerun == NARROWED and rerun.outcome != Outcome.NOT_RUN
    return names[0] if ran and len(names) == 1 and names[0] not in unmet else ""


def rerun_of(results: Iterable[Result]) -> dict[Trial, list[Result]]:
    """Trial -> the reruns that were made to explain a fault."""
    found: dict[Trial, list[Result]] = {}
    for result in results:
        if result.rerun in EXPLAINING:
            found.setdefault(result.trial, []).append(result)
    return found


def _call(trial: Trial) -> str:
    return json.dumps([trial.kernel, trial.case, trial.environment, trial.gpu], sort_keys=True)
