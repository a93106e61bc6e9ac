"""What a check measures: trials that the stored results leave open, by turns, and each regression once more."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from workbench import runner
from workbench.comparison.sides import Question, question
from workbench.environments import Built, Environment
from workbench.gpus import Gpu
from workbench.interleaving import GENERATIONS
from workbench.options import Options, Summary
from workbench.planning import Planned
from workbench.results import Result, Results
from workbench.verdict import DEFAULT, VERIFIED, Pair, Policy, Verdict, Word, judge
from workbench.verdict.ends import enough_to_show
from workbench.verdict.settling import MANY_PROCESSES
from workbench.verdict.word import OPEN

FAULTS_AGAIN = 2  # processes a side in which a fault must come again; a hang costs its whole limit each time
UNCALLED = ("install", "import", "find")  # stages before any call
VISITS = 2
MOST_TIMES = 3


@dataclass(frozen=True)
class Asked:
    """`planned` are the trials of both environments that a device here can run, `built` what is known of the two.

    `specs`: the name of an environment or a kernel -> what the user wrote; `words`: further options, to ask again.
    """

    baseline: Environment
    candidate: Environment
    planned: tuple[Planned, ...]
    gpu: Gpu | None
    options: Options
    current: str = ""
    policy: Policy = DEFAULT
    built: Mapping[str, Built] = field(default_factory=dict)
    specs: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    def judge(self, results: Results) -> Verdict:
        found = judge(results, self.baseline.name, self.candidate.name, self.current, self.policy)
        locks = {name: built.provenance() for name, built in self.built.items()}
        return replace(found, specs=self.specs, words=self.words, locks=locks)

    @property
    def generations(self) -> int:
        return self.options.generations or GENERATIONS[self.options.effort]


def stored(asked: Asked, results: Results) -> Results:
    """What is stored of these two, as they are now where a device here can run them.

    Other contents or an older kernel file are not what is asked; what was told of other devices stays.
    """
    here = {each.trial.gpu for each in asked.planned}
    hashes = {each.kernel.name: each.kernel.hash for each in asked.planned}
    names = (asked.baseline.name, asked.candidate.name)
    mine = [each for each in results if each.trial.environment in names]
    kept = (each for each in mine if each.trial.gpu not in here or _as_now(each, asked, hashes))
    return Results(tuple(kept), results.problems)


def _as_now(result: Result, asked: Asked, hashes: Mapping[str, str]) -> bool:
    built = asked.built.get(result.trial.environment)
    same_file = result.kernel_hash in ("", hashes.get(result.trial.kernel, result.kernel_hash))
    return same_file and (built is None or result.environment_hash in ("", built.hash))


def open_pairs(asked: Asked, results: Results) -> list[Planned]:
    """The planned trials, of both sides, that the results do not decide, alone or together."""
    verdict = asked.judge(results)
    settled = {
        question(pair.trial) for family in verdict.families for pair in family.pairs if pair.word not in OPEN
    }
    undone = [each for each in verdict.slower_together if each.again is False]
    settled -= {question(pair.trial) for each in undone for pair in each.pairs}
    return [each for each in asked.planned if question(each.trial) not in settled]


def estimate(asked: Asked, todo: Sequence[Planned], results: Results) -> tuple[float, int]:
    """Seconds that these trials will take by what is stored of their kernels, and of how many nothing is."""
    seen: dict[tuple[str, str], list[float]] = {}
    for each in results:
        if each.attempt and each.stages:
            seen.setdefault((each.trial.kernel, each.trial.mode), []).append(sum(each.stages.values()))
    known = [key for each in todo if (key := (each.trial.kernel, each.trial.mode)) in seen]
    seconds = sum(median(seen[key]) for key in known) * VISITS * asked.generations
    return seconds, len(todo) - len(known)


def measure(asked: Asked, todo: Sequence[Planned], **how: Any) -> Summary:
    """By turns on one device. Raises KeyboardInterrupt where it is interrupted; what was measured is stored."""
    summary = runner.run(todo, asked.gpu, replace(asked.options, interleave=True, again=True, **how))
    if summary.stopped:
        raise KeyboardInterrupt
    return summary


def sharpen(asked: Asked, verdict: Verdict) -> Summary | None:
    """Trials too close to call, anew with as many processes as would tell, up to three times the planned; or None."""
    close = [
        pair for family in verdict.families for pair in family.pairs
        if pair.word == Word.UNDECIDED and pair.settle == "noise" and pair.required and pair.change
    ]  # fmt: skip
    wanted = max((min(pair.change.processes) + pair.more for pair in close if pair.change), default=0)
    count = min(wanted, MOST_TIMES * asked.generations)
    todo = _planned(asked, {question(pair.trial) for pair in close})
    if not todo or count <= asked.generations:
        return None
    return measure(asked, todo, generations=count)


def verify(asked: Asked, verdict: Verdict) -> list[Summary]:
    """Every regression that a device here can run, once more, as reruns that stand beside the first finding.

    Each runs alone in its processes: what another trial left behind in the first ones cannot come again. Those that
    never came to a call are run together, for there may be many: a package that cannot be imported breaks every trial.
    """
    todo = [pair for pair in verdict.regressions if pair.again is None]
    uncalled = {question(pair.trial) for pair in todo if pair.after and pair.after.result.stage in UNCALLED}
    found = {question(pair.trial): _processes(pair, asked) for pair in todo}
    runs = [({one}, count) for one, count in found.items() if one not in uncalled]
    runs += [(uncalled, FAULTS_AGAIN)] if uncalled else []
    return _again(asked, runs)


def verify_together(asked: Asked, verdict: Verdict) -> list[Summary]:
    """What only all trials of a family together show, once more: all that carry it, each as often as it was found."""
    wanted: dict[int, set[Question]] = {}
    for slower in verdict.slower_together:
        for pair in slower.pairs if slower.again is None else ():
            assert pair.change
            wanted.setdefault(min(pair.change.processes), set()).add(question(pair.trial))
    return _again(asked, [(some, count) for count, some in wanted.items()])


def _again(asked: Asked, runs: Sequence[tuple[set[Question], int]]) -> list[Summary]:
    """Each run has the trials that are to be in it, as far as a device here can run them, and its processes a side."""
    return [
        measure(asked, some, purpose=VERIFIED, reruns=False, generations=count)
        for wanted, count in runs
        if (some := _planned(asked, wanted))
    ]


def _processes(pair: Pair, asked: Asked) -> int:
    """A side, for a regression to come again."""
    if pair.word == Word.SLOWER or pair.before is None or pair.after is None:
        return asked.generations
    return min(max(FAULTS_AGAIN, enough_to_show(pair.before, pair.after)), MANY_PROCESSES)


def _planned(asked: Asked, wanted: Set[Question]) -> list[Planned]:
    return [each for each in asked.planned if question(each.trial) in wanted]
