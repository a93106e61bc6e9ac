"""What a bisection will ask at most, and how long it takes by what is stored. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from workbench.interleaving import GENERATIONS
from workbench.results import Outcome, Result, Results

from . import ordered, subset
from .asked import Asked
from .deciding import Until
from .found import grouped
from .mixing import Move
from .probing import MOST_TIMES

VISITS, SIDES = 2, 2
MORE = "twice as many where they do not agree"
MORE_SLOWER = f"both sides by turns, and up to {MOST_TIMES} times as many more where it is too close to call"
ONCE = ("build", "import")


@dataclass(frozen=True)
class Plan:
    """`probes` at most, both ends among them, where each can be told; `seconds` None where nothing is stored."""

    over: str
    between: list[str]
    left_out: dict[str, str]
    probes: int
    attempts: int  # of each probe, both sides counted where they are compared
    seconds: int | None
    stored: int  # attempts at this trial in any environment
    more: str  # when there are more attempts

    def __str__(self) -> str:
        time = "not known: nothing is stored of this kernel" if self.seconds is None else f"{self.seconds} s"
        what = "versions" if self.over == "releases" else "packages differ"
        alone = ", if one package does it alone" if self.over == "lock" else ""
        lines = [
            f"between     {len(self.between)} {what}: {', '.join(self.between) or 'none'}",
            *(f"left out    {line}" for line in grouped(self.left_out)),
            f"ask         at most {self.probes} environments{alone}, both ends too; more where one cannot be told",
            f"each        {self.attempts} attempts, {self.more}",
            f"time        {time}{' by what is stored; building environments is not in it' * bool(self.seconds)}",
            f"stored      {self.stored} attempts at this trial; those in the same environments are used again",
        ]
        return "\n".join(lines)


def plan(
    asked: Asked, between: Sequence[str] | Sequence[Move], left_out: Mapping[str, str], results: Results
) -> Plan:
    """Of versions between the ends, or of packages that differ."""
    over = "lock" if any(isinstance(each, Move) for each in between) else "releases"
    count = len(between)
    searched = ordered.most_probes(count + 2) if over == "releases" else 1 + subset.most_probes(count)
    probes, attempts = searched + 2, _attempts(asked)
    each_s = _probe_s(asked, attempts, results)
    seconds = None if each_s is None else round(probes * each_s)
    names, more = list(map(str, between)), MORE_SLOWER if asked.until == Until.SLOWER else MORE
    return Plan(over, names, dict(left_out), probes, attempts, seconds, _stored(asked, results), more)


def _attempts(asked: Asked) -> int:
    return VISITS * _processes(asked) if asked.until == Until.SLOWER else asked.repeats


def _processes(asked: Asked) -> int:
    if asked.until != Until.SLOWER:
        return asked.repeats
    return SIDES * (asked.options.generations or GENERATIONS[asked.options.effort])


def _probe_s(asked: Asked, attempts: int, results: Results) -> float | None:
    """An environment compiles once, each process imports, each attempt does the rest: medians of what is stored."""
    made = [
        each
        for each in results
        if each.trial.kernel == asked.kernel.name and each.stages and each.outcome != Outcome.NOT_RUN
    ]
    if not made:
        return None
    rest = median(sum(s for stage, s in each.stages.items() if stage not in ONCE) for each in made)
    build_s, import_s = (_once_s(made, stage) for stage in ONCE)
    return build_s + _processes(asked) * import_s + attempts * rest


def _once_s(made: Sequence[Result], stage: str) -> float:
    """The longest of an environment, for others find it done already; the median over environments."""
    longest: dict[str, float] = {}
    for each in made:
        known = longest.get(each.environment_hash, 0.0)
        longest[each.environment_hash] = max(known, each.stages.get(stage, 0.0))
    return median(longest.values())


def _stored(asked: Asked, results: Results) -> int:
    wanted = asked.kernel.name, asked.mode, asked.kernel.cases[0], asked.kernel.hash
    return sum(
        (each.trial.kernel, each.trial.mode, each.trial.case, each.kernel_hash) == wanted and each.attempt > 0
        for each in results
    )
