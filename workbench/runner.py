"""Plan, run, judge, save: drives the workers. Nothing else builds or computes while something is timed."""

import contextlib
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workbench import environments, gpus, interleaving, locks, order, prebuilt, records, reruns
from workbench.crew import Crew, PutOff
from workbench.environments import BuildError, Built, Environment
from workbench.files import make_folder
from workbench.interleaving import Arm, Visit
from workbench.judge import Judgement
from workbench.options import Options, Summary
from workbench.planning import Planned
from workbench.progress import Progress
from workbench.results import COMPILED, Outcome, Result, Results, Standing, Trial, told_as
from workbench.store import load, save, save_all
from workbench.workers import Told

Key = tuple[Trial, str, str]
"""Trial, hash of its environment, hash of its kernel's file."""
RUN = "%Y%m%dT%H%M%SZ"  # how its name begins


class Run:
    """One run: its environments, its open worker, its place in the results."""

    def __init__(self, planned: Sequence[Planned], gpu: gpus.Gpu | None, options: Options):
        self.planned, self.gpu, self.options = list(planned), gpu, options
        self.built: dict[Environment, Built | BuildError] = {}
        self.made: defaultdict[Path, list[Result]] = defaultdict(list)
        self.stored = self._load()
        self.id = options.name or self._name()
        self.summary = Summary(self.id, len(self.planned))
        self.progress = Progress(len(self.planned), options.quiet)
        self.crew = Crew(gpu, options, self.progress, self._beside())

    def _name(self) -> str:
        """By name in the order in which runs were started here."""
        runs = {each.run[:16] for each in self.stored}
        now = order.later(datetime.now(UTC), runs, RUN, timedelta(seconds=1))
        return f"{now:{RUN}}-{secrets.token_hex(3)}"

    def __call__(self) -> Summary:
        began = time.monotonic()
        todo: Sequence[Planned] = self.planned
        try:
            self._build_all()
            self._say_clock()
            self._save_plan(self._todo())
            with self._alone():
                self.stored = self._load()  # with what another run has added while we waited
                todo = self._todo()
                self._compile_all(todo)
                self.progress.expect(len(todo), _places(todo))
                self._run_all(todo)
        except KeyboardInterrupt:
            self.summary.stopped = "interrupted; run the same command again to go on"
        finally:
            self.crew.kill()  # whoever is left when something went wrong
            self.progress.close()
        self._stand(todo)
        self.summary.wall_s = round(time.monotonic() - began, 2)
        known = sum(self.summary.seconds.values())
        self.summary.seconds["waiting"] = max(0.0, self.summary.wall_s - known)
        return self.summary

    def _say_clock(self) -> None:
        if order.after(self.newest, f"{datetime.now(UTC):{records.STARTED}}"):
            self.progress.say(
                f"the clock is behind attempts stored here, of {self.newest}: what is made now counts as made later"
            )

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        if self.gpu is None or not any(each.device == "cuda" for each in self.planned):
            return contextlib.nullcontext()
        return self._all_locks()

    def _beside(self) -> list[gpus.Gpu]:
        """The cards that trials of several ranks need beside the first one."""
        most = max((each.ranks for each in self.planned if each.device == "cuda"), default=1)
        return gpus.beside(self.options.gpu_index, most - 1) if most > 1 and self.gpu else []

    @contextlib.contextmanager
    def _all_locks(self) -> Iterator[None]:
        """Of all cards, in one order for everybody, so that no two runs wait for each other."""
        with contextlib.ExitStack() as locked:
            for name in sorted(f"gpu-{card.uuid_hash}" for card in self.crew.cards):
                locked.enter_context(locks.hold(name, self.options.wait, self.progress.say))
            yield

    # What there is to do

    def _load(self) -> Results:
        """Raises OSError, before anything is built, where nothing could be stored."""
        folder = self.options.results
        make_folder(folder)
        found = load(folder)
        self.tried: Counter[Key] = Counter()
        self.attempts: defaultdict[Key, list[Result]] = defaultdict(list)
        self.newest = max((result.when for result in found), default="")
        for result in found:
            key = self._key(result)
            self.tried[key] = max(self.tried[key], result.attempt)
            self.attempts[key].append(result)
        return found

    def _build_all(self) -> None:
        """All environments before anything is timed; one that fails is tried once and is an outcome."""
        for environment in dict.fromkeys(each.environment for each in self.planned):
            began = time.monotonic()
            try:
                self.built[environment] = environments.build(
                    environment,
                    folder=self.options.environments_folder,
                    wheels=self.options.wheels,
                    progress=self.progress.say,
                )
                self.crew.ahead[environment] = self._modules(self.built[environment])
            except BuildError as problem:
                self.built[environment] = problem
            self.summary.seconds["install"] += time.monotonic() - began

    def _modules(self, built: Built | BuildError) -> dict[str, prebuilt.Module]:
        if self.options.prebuilt is None or self.gpu is None or isinstance(built, BuildError):
            return {}
        version = built.packages.get("flashinfer-python", "")
        unpacked = self.options.environments_folder / "modules"
        return prebuilt.modules(self.options.prebuilt, version, self.gpu.sm, unpacked)

    def _todo(self) -> list[Planned]:
        anew = self.options.again or self.options.interleave  # a comparison is of one run
        todo = [each for each in self.planned if anew or not self._is_done(each)]
        self.summary.skipped = len(self.planned) - len(todo)
        return todo

    def _is_done(self, planned: Planned) -> bool:
        return any(each.attempt > 0 for each in self.attempts[self._planned_key(planned)])

    @staticmethod
    def _key(result: Result) -> Key:
        return result.trial, result.environment_hash, result.kernel_hash

    def _planned_key(self, planned: Planned) -> Key:
        built = self.built[planned.environment]
        return planned.trial, built.hash if isinstance(built, Built) else "", planned.kernel.hash

    def _save_plan(self, todo: Iterable[Planned]) -> None:
        """A line for each trial before the first one starts: what stays of it if we are killed.

        Written in one piece: a part of a plan would look like the whole of another.
        """
        known = {self._key(result) for result in self.stored}
        nothing = Judgement(Outcome.NOT_RUN, "not_run", "planned; the run ended before it")
        lines: dict[Path, list[Result]] = {}
        for planned in todo:
            if self._planned_key(planned) not in known:
                file, result = self._line(planned, Told(stage=""), nothing, attempt=0)
                lines.setdefault(file, []).append(result)
        for file, results in lines.items():
            save_all(results, file)

    # Running

    def _run_all(self, todo: Sequence[Planned]) -> None:
        if self.options.interleave:
            self._by_turns(todo)
        else:
            self._one_by_one(todo)
        hurried = self.options.interleave and self.options.effort == "quick"
        if self.options.reruns and not hurried:
            for planned in self.planned:  # also what crashed in an earlier run that ended before it could ask
                self._explain(planned)

    def _one_by_one(self, todo: Sequence[Planned]) -> None:
        # A process knows one GPU in its life, so it also meets one given SM.
        for environment, sm in dict.fromkeys((each.environment, each.sm) for each in todo):
            mine = [each for each in todo if (each.environment, each.sm) == (environment, sm)]
            built = self.built[environment]
            if isinstance(built, BuildError):
                for planned in mine:
                    self._finish(planned, Told(stage="install"), self._not_built(built))
            else:
                self._run_environment(built, mine)

    def _compile_all(self, todo: Sequence[Planned]) -> None:
        """For several environments at once, where kernels say what they compile; a single one compiles in its trial."""
        wanted: dict[tuple[Environment, str], tuple[Planned, Built]] = {}
        for each in todo:
            built = self.built[each.environment]
            can_run = each.device == "cpu" or each.ranks <= len(self.crew.cards)
            if hasattr(each.kernel.module, "build") and can_run and isinstance(built, Built):
                wanted.setdefault((each.environment, each.kernel.name), (each, built))
        if len(wanted) > 1:
            began = time.monotonic()
            self.progress.say(f"compiling {len(wanted)} kernels' modules, all at once")
            self.crew.compile(list(wanted.values()))
            self.summary.seconds["build"] += time.monotonic() - began

    @staticmethod
    def _not_built(problem: BuildError) -> Judgement:
        return Judgement(Outcome.NOT_BUILT, "not_built", str(problem)[:500])

    def _run_environment(self, built: Built, mine: Sequence[Planned]) -> None:
        for number, planned in enumerate(mine, start=1):
            self.progress.begin(_words(planned.trial))
            try:
                self._finish(planned, *self.crew.attempt(planned, built, last=number == len(mine)))
            except PutOff as why:
                self._put_off(planned, str(why))
        self.crew.close()

    def _by_turns(self, todo: Sequence[Planned]) -> None:
        """All environments on one GPU, a warm worker each, several processes a side."""
        before = [each for each in self.stored if each.run == self.id and each.attempt > 0 and not each.rerun]
        for planned in todo:
            built = self.built[planned.environment]
            if isinstance(built, BuildError) and planned.trial not in {each.trial for each in before}:
                self._finish(planned, Told(stage="install"), self._not_built(built))
        there = [each for each in todo if isinstance(self.built[each.environment], Built)]
        sides = interleaving.arms(dict.fromkeys(each.environment for each in there), self.options.arms)
        generations = self._generations(before, there, sides)
        asked = interleaving.questions(there)
        self.progress.expect(2 * len(generations) * self.options.arms * len(there), _places(there))
        for generation in generations:
            self._assemble(asked, sides)
            for question in asked:
                self._ask(question, interleaving.visits(sides, generation))
            self.crew.close()

    def _generations(self, before: Sequence[Result], there: Sequence[Planned], sides: Sequence[Arm]) -> range:
        asked = {
            (each.trial, side.name)
            for each in there
            for side in sides
            if side.environment == each.environment
        }
        count = self.options.generations or interleaving.GENERATIONS[self.options.effort]
        return interleaving.left(before, asked, count, self.gpu.uuid_hash if self.gpu else None)

    def _assemble(self, asked: Sequence[Mapping[Environment, Planned]], sides: Iterable[Arm]) -> None:
        """A generation's processes, each by the first question that is put to its environment."""
        first: dict[Environment, Planned] = {}
        for question in reversed(asked):
            first.update(question)
        built = {environment: each for environment, each in self.built.items() if isinstance(each, Built)}
        self.crew.assemble({side.place: (first[side.environment], built[side.environment]) for side in sides})

    def _ask(self, question: Mapping[Environment, Planned], visits: Sequence[Visit]) -> None:
        """One question to all sides by turns; a side that fails is not asked again in this generation."""
        over: set[str] = set()
        marks: tuple[str, ...] = ()
        for visit in visits:
            planned, place = question.get(visit.arm.environment), visit.arm.place
            if planned is None or place in over:
                continue
            self.progress.begin(_words(planned.trial))
            try:
                told, judgement = self._visit(planned, visit, marks)
                if judgement.reason == "oom" and self.crew.close_others(place):
                    marks = (interleaving.ALONE,)
                    self.progress.say(f"{_words(planned.trial)}: {interleaving.NO_ROOM}")
                    told, judgement = self._visit(planned, visit, marks)
            except PutOff as why:
                self._put_off(planned, str(why))
                over.add(place)
                continue
            if judgement.outcome != Outcome.OK:
                over.add(place)
            self._finish(planned, told, judgement, visit, marks)

    def _visit(self, planned: Planned, visit: Visit, marks: Sequence[str]) -> tuple[Told, Judgement]:
        built = self.built[planned.environment]
        assert isinstance(built, Built)
        if marks:
            self.crew.close_others(visit.arm.place)
        return self.crew.attempt(planned, built, visit.arm.place, anchor=True, keep=True)

    def _explain(self, planned: Planned) -> None:
        """Further attempts at a trial that has crashed, until nothing is left to ask."""
        built, key = self.built[planned.environment], self._planned_key(planned)
        while isinstance(built, Built) and (owed := reruns.owed(self.attempts[key], planned.device)):
            self.progress.begin(f"{owed[0].why}: {_words(planned.trial)}")
            began = time.monotonic()
            try:
                told, judgement = self.crew.again(planned, built, owed[0])
            except PutOff as why:
                self.progress.say(f"{_words(planned.trial)}: not {owed[0].why}: {why}")
                return
            self.summary.seconds["reruns"] += time.monotonic() - began
            self._finish_rerun(planned, told, judgement, owed[0])

    # Saving

    def _stand(self, todo: Sequence[Planned]) -> None:
        """How all that was planned stands, by what is stored of these kernels and environments."""
        if len(self.built) < len({each.environment for each in self.planned}):
            return  # interrupted before it was known what they are
        attempts: dict[Key, list[Result]] = {}
        for result in load(self.options.results):
            attempts.setdefault(self._key(result), []).append(result)
        ran = set(map(self._planned_key, todo))
        for key in map(self._planned_key, self.planned):
            if key not in attempts:
                continue
            standing = Standing.of(attempts[key])
            word = told_as(standing.result.trial, standing.outcome)
            self.summary.standing[word] += 1
            self.summary.against += standing.against
            if key not in ran:
                self.summary.stored[word] += 1

    def _finish(
        self,
        planned: Planned,
        told: Told,
        judgement: Judgement,
        visit: Visit | None = None,
        marks: Sequence[str] = (),
    ) -> None:
        self.summary.outcomes[told_as(planned.trial, judgement.outcome)] += 1
        for stage, spent in told.stages.items():
            self.summary.seconds[stage] += spent
        key = self._planned_key(planned)
        file, result = self._line(planned, told, judgement, self.tried[key] + 1)
        if visit:
            arm, generation, number = visit.arm.name, visit.generation, visit.number
            result = replace(
                result, arm=arm, generation=generation, visit=number, marks=[*result.marks, *marks]
            )
        self._keep(key, result, file)
        says, built_s = _says(planned.trial, judgement, told), told.stages.get("build", 0.0)
        self.progress.end(_head(planned.trial), _tail(planned.trial), says, judgement.outcome, built_s)

    def _finish_rerun(self, planned: Planned, told: Told, judgement: Judgement, rerun: reruns.Rerun) -> None:
        """Kept with its number, and no outcome of the run: it explains one."""
        self.summary.reruns[rerun.why] += 1
        key = self._planned_key(planned)
        file, result = self._line(planned, told, judgement, self.tried[key] + 1)
        result = replace(result, rerun=rerun.why, time={}, marks=[*result.marks, *rerun.marks])
        self._keep(key, result, file)
        self.progress.say(f"{_words(planned.trial)}: {rerun.why}: {_says(planned.trial, judgement, Told())}")

    def _keep(self, key: Key, result: Result, file: Path) -> None:
        if self.made[file] and not file.exists():  # somebody has deleted or moved it under us
            self.progress.say(f"{file} is gone; what this run has measured is stored there again")
            save_all(self.made[file], file)
        save(result, file)
        self.made[file].append(result)
        self.newest = max(self.newest, result.when)
        self.tried[key] += 1
        self.attempts[key].append(result)

    def _put_off(self, planned: Planned, why: str) -> None:
        """No attempt, and so not done: the next run takes it up."""
        judgement = Judgement(Outcome.NOT_RUN, "not_run", why)
        self.summary.outcomes[judgement.outcome] += 1
        file, result = self._line(planned, Told(stage=""), judgement, attempt=0)
        save(result, file)
        says = _says(planned.trial, judgement, Told(stage=""))
        self.progress.end(_head(planned.trial), _tail(planned.trial), says, judgement.outcome)

    def _line(self, planned: Planned, told: Told, judgement: Judgement, attempt: int) -> tuple[Path, Result]:
        built = self.built[planned.environment]
        gpu = self.gpu if planned.device == "cuda" else None
        clocks = gpus.snapshot(self.options.gpu_index) if gpu and judgement.outcome == Outcome.OK else {}
        cards = self.crew.cards[: planned.ranks] if gpu else []
        result = records.result(
            planned, told, judgement, built, gpu, self.id, attempt, self.crew.ahead_of(planned), cards
        )
        result = replace(result, rerun=self.options.purpose)
        if result.when and (after := order.after(self.newest, result.when)):
            result.provenance["after"] = after
        if result.time:
            result.time.update(floor_us=self.crew.floor_us(planned), clocks=clocks)
        file = self.options.results / self.options.part / records.place(planned, built, gpu)
        self.summary.files.add(str(file))
        return file, result


def run(planned: Sequence[Planned], gpu: gpus.Gpu | None, options: Options) -> Summary:
    """Run what the results folder lacks. Calling it again goes on where it stopped."""
    return Run(planned, gpu, options)()


def _places(todo: Sequence[Planned]) -> int:
    return len({_head(each.trial) for each in todo})


def _words(trial: Trial) -> str:
    return f"{_head(trial)}: {_tail(trial)}"


def _head(trial: Trial) -> str:
    return f"{trial.kernel} in {trial.environment}"


def _tail(trial: Trial) -> str:
    return f"{trial.mode}, {trial.label}"


def _says(trial: Trial, judgement: Judgement, told: Told) -> str:
    median_us = told.facts.get("time", {}).get("median_us")
    if judgement.outcome == Outcome.OK and median_us is not None:
        return f"ok, {median_us:.4g} us"
    if told_as(trial, judgement.outcome) == COMPILED:
        return judgement.detail[:200]
    shown = str(judgement.outcome).replace("_", " ")
    reason = f" ({judgement.reason})" if judgement.reason != judgement.outcome else ""
    return f"{shown}{reason}: {judgement.detail}"[:200]
