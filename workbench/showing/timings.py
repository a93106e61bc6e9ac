"""The times in results, picked and put in order for figures: one Timing a trial that is ok."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles

from workbench.results import Outcome, Result, Results, Standing, Trial
from workbench.showing.cells import cut_names
from workbench.tactics import tactic
from workbench.untrusted import natural, number, plain

LADDERS = ("tokens", "batch", "length")  # the case's key that is the axis, before any other number
LABEL = 300  # characters of a case
LAUNCH_BOUND_US = 2.0  # a floor below this is less than what a launch costs


@dataclass(frozen=True)
class Timing:
    """Microseconds on the device, of one process; `samples` were taken, `throttled` as the clocks say."""

    trial: Trial
    median_us: float
    q1_us: float
    q3_us: float
    floor_us: float | None
    samples: int
    throttled: bool
    marks: tuple[str, ...] = ()  # what must be said of it wherever it is shown
    tactic: str = ""  # what was chosen, in a tuned mode

    @property
    def mode(self) -> str:
        """`graph`, `graph+tuned [gemm1 MoERunner 33, gemm2 MoERunner 114]`."""
        return self.trial.mode + (f" [{self.tactic}]" if self.tactic else "")

    @property
    def share(self) -> float | None:
        """How much of the time the physical floor explains: 1 is as fast as the hardware can be."""
        return None if self.floor_us is None else self.floor_us / self.median_us

    @property
    def launch_bound(self) -> bool:
        return self.floor_us is not None and self.floor_us < LAUNCH_BOUND_US


def timings(results: Results, kernel: str) -> list[Timing]:
    """In natural order; flaky trials and those that ended otherwise than ok have no time."""
    return results.once(("timings", kernel), lambda every: _timings(every, kernel))


def _timings(results: Results, kernel: str) -> list[Timing]:
    standings = _plain_runs(results.only(kernel=[kernel])).trials()
    steady = ((trial, standing) for trial, standing in standings.items() if standing.outcome == Outcome.OK)
    picked = [_timing(trial, standing, results) for trial, standing in steady]
    return sorted((each for each in picked if each), key=lambda each: place(each.trial))


def _plain_runs(results: Results) -> Results:
    """Visits by turns belong to a comparison, and may be of another timer; they stand in where nothing else is."""
    plainly = {result.trial for result in results if not result.generation and result.time}
    kept = (result for result in results if not result.generation or result.trial not in plainly)
    return Results(tuple(kept), results.problems)


def place(trial: Trial) -> tuple[object, ...]:
    case = [(name, natural(value)) for name, value in trial.case.items()]
    return natural(trial.gpu), case, natural(trial.mode), natural(trial.environment)


def _timing(trial: Trial, standing: Standing, results: Results) -> Timing | None:
    result = standing.result
    samples = [float(sample) for sample in result.time.get("samples_us", ()) if sample > 0]
    middle = number(result.time, "median_us") or (median(samples) if samples else None)
    if middle is None:
        return None
    low, high = _quartiles(result, samples, middle)
    clocks = result.time.get("clocks")
    throttled = isinstance(clocks, dict) and bool(clocks.get("throttle"))
    taken = int(number(result.time, "taken") or len(samples))
    floor_us, said_of_it = number(result.time, "floor_us"), _marks(result)
    return Timing(trial, middle, low, high, floor_us, taken, throttled, said_of_it, tactic(result))


def _marks(result: Result) -> tuple[str, ...]:
    return tuple(cut_names(plain(text, 300)) for text in result.marks)


def _quartiles(result: Result, samples: list[float], middle: float) -> tuple[float, float]:
    low, high = number(result.time, "q1_us"), number(result.time, "q3_us")
    if low is None or high is None:
        low, _, high = quantiles(samples, n=4) if len(samples) > 1 else (middle, middle, middle)
    return min(low, middle), max(high, middle)


def ladder(cases: Iterable[dict[str, object]]) -> str | None:
    """The key whose numbers make the axis: tokens if there are several, else the number that varies most."""
    seen: dict[str, set[object]] = {}
    for case in cases:
        for name, value in case.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                seen.setdefault(name, set()).add(value)
    if not seen:
        return None
    known = {name: len(LADDERS) - LADDERS.index(name) for name in LADDERS if name in seen}
    return max(seen, key=lambda name: (len(seen[name]) > 1, known.get(name, 0), len(seen[name])))


def shared(found: list[Timing]) -> dict[str, object]:
    """What all their cases have in common: said once, not in every label."""
    first, *others = [each.trial.case for each in found] or [{}]
    return {
        name: value
        for name, value in first.items()
        if all(name in case and repr(case[name]) == repr(value) for case in others)
    }


def rest(trial: Trial, without: Collection[str]) -> str:
    """The case without some of its keys: what tells one panel, or one row, from another."""
    return said({name: value for name, value in trial.case.items() if name not in without})


def said(case: Mapping[str, object]) -> str:
    return plain(", ".join(f"{name}={value}" for name, value in case.items()), LABEL)
