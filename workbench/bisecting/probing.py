"""One environment asked: built, its stored attempts looked up, and run as often as is still needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workbench.environments import BuildError, Built, Environment
from workbench.interleaving import GENERATIONS
from workbench.planning import Planned
from workbench.results import Outcome, Result, Results, Trial
from workbench.untrusted import plain
from workbench.verdict.speed import Speed, speeds

from .answer import Answer
from .asked import Asked, Runs, build
from .deciding import Until, answer_of, decided, said, speed_answer

MOST_TIMES = 3  # processes a side, where a speed is too close to call
Check = Callable[[Built], str]
"""Why an environment, built, is not the one that was meant: "" if it is."""


@dataclass(frozen=True)
class Probe:
    """What an environment answered, from how many attempts, and how many runs were `made` for it."""

    trial: Trial
    answer: Answer
    why: str
    attempts: int = 0
    made: int = 0
    built: Built | None = field(default=None, repr=False)

    @property
    def environment(self) -> str:
        return self.trial.environment


def probe(asked: Asked, environment: Environment, check: Check = lambda built: "") -> Probe:
    """Raises KeyboardInterrupt when it is interrupted; what was measured until then is stored."""
    (planned,) = asked.planned(environment)
    try:
        built = build(asked, environment)
    except BuildError as problem:
        return Probe(planned.trial, Answer.UNKNOWN, f"cannot be built: {plain(problem, 300)}")
    if why := check(built):
        return Probe(
            planned.trial, Answer.UNKNOWN, f"cannot be built as meant: {plain(why, 300)}", built=built
        )
    if asked.until == Until.SLOWER and asked.reference and asked.reference != environment:
        return _compared(asked, planned, built, asked.reference)
    return _repeated(asked, planned, built)


def _repeated(asked: Asked, planned: Planned, built: Built) -> Probe:
    runs = Runs(asked)
    for _ in range(2 * asked.repeats + 2):  # a run may end without an attempt: another one has the GPU
        counted = runs.attempts(planned, built)
        answer = decided([answer_of(each, asked.until) for each in counted], asked.repeats)
        if answer is not None:
            break
        runs([planned], again=True)
    answer = answer or Answer.UNKNOWN
    why = said(counted, answer, asked.until)
    return Probe(planned.trial, answer, why, len(counted), len(runs.made), built)


def _compared(asked: Asked, planned: Planned, built: Built, reference: Environment) -> Probe:
    """By turns with the good end; what is too close to call once more, with as many processes as would tell."""
    pair, runs = asked.planned(reference, planned.environment), Runs(asked)
    sides = pair[0], build(asked, reference), pair[1], built
    generations = asked.options.generations or GENERATIONS[asked.options.effort]
    speed = _speed(runs, *sides)
    if speed_answer(speed) == Answer.UNKNOWN and not _failed(runs.attempts(planned, built)):
        runs(pair, interleave=True, again=True)
        speed = _speed(runs, *sides)
    if speed and speed.settle == "noise":
        more = min(min(speed.change.processes) + speed.more, MOST_TIMES * generations)
        runs(pair, interleave=True, again=True, generations=more)
        speed = _speed(runs, *sides)
    attempts, answer = runs.attempts(planned, built), speed_answer(speed)
    why = speed.why if speed else said(attempts, Answer.UNKNOWN, asked.until)
    return Probe(planned.trial, answer, why, len(attempts), len(runs.made), built)


def _failed(attempts: Sequence[Result]) -> bool:
    """Whether it was measured by turns already and has no time to compare."""
    return any(each.generation and each.outcome not in (Outcome.OK, Outcome.NOT_RUN) for each in attempts)


def _speed(runs: Runs, good: Planned, good_built: Built, one: Planned, built: Built) -> Speed | None:
    before, after = runs.attempts(good, good_built), runs.attempts(one, built)
    if not (before and after):
        return None
    names = good.environment.name, one.environment.name
    return next(iter(speeds(Results((*before, *after)), *names, runs.asked.policy).values()), None)
