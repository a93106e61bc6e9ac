"""Attempts gathered into sides: what each process of one environment and arm had, in one run on one card."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median

from workbench.comparison.tunings import Tuning, tunings
from workbench.results import Outcome, Result, Results, Trial, device
from workbench.untrusted import natural, number, part

Question = tuple[str, str, str, str]
"""Kernel, case as JSON, mode, GPU: a trial without its environment."""
Place = tuple[str, str]
"""Run and card (`uuid_hash`; the device's name where it is no GPU, "" where it is not known)."""


@dataclass(frozen=True)
class Side:
    """An environment, and which of its arms: None is the first arm there is (A/A runs have two)."""

    environment: str
    arm: str | None = None

    @property
    def label(self) -> str:
        return f"{self.environment} [{self.arm}]" if self.arm else self.environment


def sides(results: Results) -> list[Side]:
    """All there are, in natural order: environments and their arms."""
    return results.once("sides", _sides)


def _sides(results: Results) -> list[Side]:
    named = {(result.trial.environment, result.arm) for result in results}
    return sorted(
        (Side(*each) for each in named), key=lambda side: (natural(side.environment), natural(side.arm))
    )


def resolved(side: Side | str, results: Results) -> Side:
    """With its arm. Raises ValueError, naming the sides there are, where there is no such side."""
    side = Side(side) if isinstance(side, str) else side
    there = sides(results)
    for each in there:
        if each.environment == side.environment and side.arm in (None, each.arm):
            return each
    raise ValueError(f"no results of {side.label}; there are: {', '.join(each.label for each in there)}")


def question(trial: Trial) -> Question:
    return trial.kernel, trial.case_text, trial.mode, trial.gpu


def place(result: Result) -> Place:
    card = str(part(result.provenance, "gpu", "uuid_hash") or "")
    return result.run, card if device(result.trial.gpu) == "gpu" else result.trial.gpu


@dataclass(frozen=True)
class Gathered:
    """All attempts of one side at one trial in one place."""

    attempts: list[Result] = field(default_factory=list)

    @cached_property
    def timed(self) -> list[Result]:
        return [each for each in self.attempts if time_us(each) is not None]

    @cached_property
    def processes(self) -> dict[int, float]:
        """Generation -> mean over its visits of the logarithm of the median time: linear drift cancels in A B B A."""
        return self._by_process(time_us)

    def by_process(self, name: str, within: str = "") -> dict[int, float]:
        """The same for another positive number in `time`, or in one of its groups; without processes that lack it."""
        return self._by_process(lambda each: _number(each, name, within))

    def _by_process(self, of: Callable[[Result], float | None]) -> dict[int, float]:
        visits: dict[int, dict[int, list[float]]] = {}
        for each in self.timed:
            if found := of(each):
                visits.setdefault(each.generation, {}).setdefault(each.visit, []).append(math.log(found))
        return {
            generation: fmean(fmean(sorted(logs)) for _, logs in sorted(seen.items()))
            for generation, seen in sorted(visits.items())
        }

    @cached_property
    def visits(self) -> dict[int, int]:
        """Generation -> how many visits have a time."""
        seen = {(each.generation, each.visit) for each in self.timed}
        counts: dict[int, int] = {}
        for generation, _ in seen:
            counts[generation] = counts.get(generation, 0) + 1
        return counts

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        """What each process chose, in a tuned mode; empty in others."""
        return tunings(self.timed, self.processes)

    @property
    def time_us(self) -> float | None:
        """Geometric mean over the processes."""
        return math.exp(fmean(self.processes.values())) if self.processes else None

    @property
    def outcome(self) -> Outcome:
        """How it ended where there is no time: the first of the outcomes in their own order, ok last."""
        had = {each.outcome for each in self.attempts if each.attempt > 0}
        return next((each for each in Outcome if each in had - {Outcome.OK}), Outcome.NOT_RUN)

    @property
    def flaky(self) -> bool:
        ran = (each for each in self.attempts if each.attempt > 0 and each.outcome != Outcome.NOT_RUN)
        return len({each.outcome for each in ran}) > 1

    def said(self, name: str) -> set[str]:
        """The different values of one fact in `time`."""
        return {str(each.time[name]) for each in self.timed if each.time.get(name) is not None}

    def each(self, name: str, within: str = "") -> list[float]:
        """A number in `time`, or in one of its groups, of every attempt that has it."""
        numbers = (_number(each, name, within) for each in self.timed)
        return [each for each in numbers if each is not None]

    def middle(self, name: str, within: str = "") -> float | None:
        """Their median."""
        known = self.each(name, within)
        return median(known) if known else None

    @cached_property
    def kernels(self) -> set[tuple[str, ...]]:
        """The different sets of kernel names that were launched."""
        names = (each.time.get("kernels") for each in self.timed)
        return {
            tuple(sorted({str(name) for name in each})) for each in names if isinstance(each, list) and each
        }

    @property
    def throttled(self) -> bool:
        clocks = (each.time.get("clocks") for each in self.timed)
        return any(isinstance(each, dict) and bool(each.get("throttle")) for each in clocks)


def _number(result: Result, name: str, within: str) -> float | None:
    facts = result.time.get(within) if within else result.time
    return number(facts, name) if isinstance(facts, dict) else None


def time_us(result: Result) -> float | None:
    """The median of the samples; None unless the attempt was ok and all of them are times."""
    samples = result.time.get("samples_us")
    if result.outcome != Outcome.OK or not isinstance(samples, list) or not samples:
        return None
    numbers = set(map(type, samples)) <= {int, float}
    return result.median_us if numbers and min(samples) > 0 and math.isfinite(sum(samples)) else None


BySide = dict[Question, dict[Place, Gathered]]


def gathered(results: Results, side: Side) -> BySide:
    return results.once("gathered", _gathered).get(side, {})


def _gathered(results: Results) -> dict[Side, BySide]:
    found: dict[Side, BySide] = {}
    for each in results:
        if not each.rerun:
            of_side = found.setdefault(Side(each.trial.environment, each.arm), {})
            places = of_side.setdefault(question(each.trial), {})
            places.setdefault(place(each), Gathered()).attempts.append(each)
    return found
