"""Plan, run, judge, save: drives the workers. Nothing else builds or computes while something is timed."""

import contextlib
import errno
import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench import canary, environments, gpus, locks, planning, prebuilt, records
from workbench.environments import BuildError, Built, Environment
from workbench.judge import Facts, Judgement, death, judge
from workbench.planning import Planned
from workbench.progress import Progress
from workbench.results import Outcome, Result, Results, Trial, load, save, save_all
from workbench.workers import LIMITS_S, Told, Worker

CRASHES = (Outcome.CRASHED, Outcome.HUNG)
NOT_FOUND = (Outcome.FAILED, Outcome.MISSING, Outcome.CRASHED)  # as where somebody deleted the environment
LONG_BUILD_S = 6 * 3600.0
Key = tuple[Trial, str, str]
"""Trial, hash of its environment, hash of its kernel's file."""


@dataclass(frozen=True)
class Options:
    """How a run is made. `limits_s` overrides single stages; `memory_mb` caps a worker's whole tree (0: none)."""

    results: Path
    gpu_index: int = 0
    wheels: Path | None = None
    environments_folder: Path = Path(".environments")
    effort: str = "default"
    limits_s: Mapping[str, float] = field(default_factory=dict)
    memory_mb: int | None = None
    again: bool = False
    wait: bool = True
    quiet: bool = False
    prebuilt: Path | None = None
    build: bool = False  # start builds of hours, too


@dataclass
class Summary:
    """What a run did. Seconds by stage; `waiting` is what no stage accounts for."""

    run: str
    planned: int
    skipped: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    wall_s: float = 0.0
    stopped: str = ""
    files: set[str] = field(default_factory=set)


class Run:
    """One run: its environments, its open worker, its place in the results."""

    def __init__(self, planned: Sequence[Planned], gpu: gpus.Gpu | None, options: Options):
        self.planned, self.gpu, self.options = list(planned), gpu, options
        self.id = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        self.summary = Summary(self.id, len(self.planned))
        self.built: dict[Environment, Built | BuildError] = {}
        self.ahead: dict[Environment, dict[str, prebuilt.Module]] = {}
        long = {"build": LONG_BUILD_S} if options.build else {}
        self.limits_s = {**LIMITS_S, **long, **options.limits_s}
        self.stored = self._load()
        self.quarantine = ""
        self.spoilt: dict[Environment, str] = {}

    def __call__(self) -> Summary:
        began = time.monotonic()
        try:
            self._build_all()
            self._save_plan(self._todo())
            self.progress = Progress(len(self.planned), self.options.quiet)
            with self._alone():
                self.stored = self._load()  # with what another run has added while we waited
                todo = self._todo()
                self.progress.expect(len(todo))
                self._run_all(todo)
        except KeyboardInterrupt:
            self.summary.stopped = "interrupted; run the same command again to go on"
        finally:
            if hasattr(self, "progress"):
                self.progress.close()
        self.summary.wall_s = round(time.monotonic() - began, 2)
        known = sum(self.summary.seconds.values())
        self.summary.seconds["waiting"] = max(0.0, self.summary.wall_s - known)
        return self.summary

    def _alone(self) -> contextlib.AbstractContextManager[None]:
        if self.gpu is None or not any(each.device == "cuda" for each in self.planned):
            return contextlib.nullcontext()
        return locks.hold(f"gpu-{self.gpu.uuid_hash}", self.options.wait, self.progress.say)

    # What there is to do

    def _load(self) -> Results:
        """Raises OSError, before anything is built, where nothing could be stored."""
        folder = self.options.results
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "nothing can be written here", str(folder))
        found = load(folder)
        self.tried: Counter[Key] = Counter()
        for result in found:
            key = self._key(result)
            self.tried[key] = max(self.tried[key], result.attempt)
        return found

    def _build_all(self) -> None:
        """All environments before anything is timed; one that fails is tried once and is an outcome."""
        for environment in dict.fromkeys(each.environment for each in self.planned):
            began = time.monotonic()
            try:
                self.built[environment] = environments.build(
                    environment, folder=self.options.environments_folder, wheels=self.options.wheels
                )
                self.ahead[environment] = self._modules(self.built[environment])
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
        todo = [
            each for each in self.planned if self.options.again or not self.tried[self._planned_key(each)]
        ]
        self.summary.skipped = len(self.planned) - len(todo)
        return todo

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
        for environment in dict.fromkeys(each.environment for each in todo):
            mine = [each for each in todo if each.environment == environment]
            built = self.built[environment]
            if isinstance(built, BuildError):
                for planned in mine:
                    self._finish(planned, Told(stage="install"), self._not_built(built))
            else:
                self._run_environment(built, mine)

    @staticmethod
    def _not_built(problem: BuildError) -> Judgement:
        return Judgement(Outcome.NOT_BUILT, "not_built", str(problem)[:500])

    def _run_environment(self, built: Built, mine: Sequence[Planned]) -> None:
        worker: Worker | None = None
        try:
            for number, planned in enumerate(mine, start=1):
                if why := self._why_not(planned, built, fresh=worker is None):
                    self._put_off(planned, why)
                    continue
                self.progress.begin(_words(planned.trial))
                warm, worker = worker is not None, worker or self._worker(built)
                told = worker.run(self._command(planned), self.limits_s, self._heard)
                if warm and not told.began:  # what ended the process is not this trial's doing
                    self.progress.say("the process ended between two trials; the next has a new one")
                    worker = self._worker(built)
                    told = worker.run(self._command(planned), self.limits_s, self._heard)
                worker = None if told.worker_over else worker
                judgement = self._judged(planned, told, built)
                if judgement.outcome in NOT_FOUND and not built.python.exists():
                    self._put_off(planned, self._why_not(planned, built, fresh=True))
                    continue
                if worker and number == len(mine):
                    judgement, worker = self._close(worker, judgement), None
                self._finish(planned, told, judgement)
                if judgement.outcome in CRASHES and planned.device == "cuda":
                    self._canary(built, judgement)
        except KeyboardInterrupt:
            if worker:
                worker.kill()
            raise
        finally:
            if worker:
                worker.close()

    def _worker(self, built: Built) -> Worker:
        memory_mb = self.options.memory_mb
        if memory_mb is None:
            import psutil

            memory_mb = int(psutil.virtual_memory().available * 0.8 / 2**20)
        return Worker(built.python, self._variables(built), memory_mb)

    def _variables(self, built: Built) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        chosen = {"CUDA_VISIBLE_DEVICES": self.gpu.uuid} if self.gpu else {}
        return {**kept, **chosen, **built.variables}

    def _command(self, planned: Planned) -> dict[str, Any]:
        return {
            "kernel_file": str(planned.kernel.file),
            "case": planned.trial.case,
            "mode": planned.trial.mode,
            "device": planned.device,
            "sm": self.gpu.sm if self.gpu else "",
            "effort": self.options.effort,
            "prebuilt": {name: str(module.file) for name, module in self._ahead(planned).items()},
            "build": self.options.build,
        }

    def _ahead(self, planned: Planned) -> dict[str, prebuilt.Module]:
        return self.ahead.get(planned.environment, {})

    def _heard(self, facts: Mapping[str, Any]) -> None:
        """Say how far a long build is."""
        building = facts.get("building")
        if isinstance(building, dict):
            self.progress.building(str(building.get("module")), building.get("made"), building.get("of"))

    def _close(self, worker: Worker, judgement: Judgement) -> Judgement:
        """An answer that was right stays right when its process then dies; the death is said."""
        told = worker.close()
        if told.code in (0, None) and not told.killed:
            return judgement
        how = "did not end" if told.killed else death(told.code or 0)
        detail = f"{judgement.detail}; then the process {how} at its end"
        return Judgement(judgement.outcome, judgement.reason, detail)

    def _why_not(self, planned: Planned, built: Built, fresh: bool) -> str:
        """What has become since the plan was made of what the trial needs; empty where all is as it was."""
        if self.quarantine and planned.device == "cuda":
            return f"the GPU is not used any more: {self.quarantine}"
        if fresh and not self.spoilt.get(built.environment):
            self.spoilt[built.environment] = environments.changed(built)
        if problem := self.spoilt.get(built.environment):
            return f"{problem}; run the same command again"
        with contextlib.suppress(OSError):
            if planning.hash_of(planned.kernel.file) == planned.kernel.hash:
                return ""
        return "the kernel's file was changed during the run; run the same command again"

    def _canary(self, built: Built, after: Judgement) -> None:
        """After a crash the GPU must prove itself in a fresh process before it is used again."""
        problem = canary.sing(built.python, self._variables(built))
        if problem:
            self.quarantine = f"{problem[:200]} (canary after: {after.detail[:200]})"
            self.progress.say(f"The GPU failed its canary and is left alone: {self.quarantine}")

    def _judged(self, planned: Planned, told: Told, built: Built) -> Judgement:
        return judge(
            Facts(
                stage=told.stage,
                told=told.facts,
                api=planned.kernel.module.API,
                end=told.end,
                killed=told.killed,
                code=told.code,
                garbage=told.garbage,
                limit_s=self.limits_s.get(told.stage),
                floor_us=self._floor_us(planned),
                stderr=told.stderr,
                stdout=told.stdout,
                sm=self.gpu.sm if self.gpu else "",
                gpu=planned.trial.gpu,
                versions={**built.inherited, **built.packages},
            )
        )

    def _floor_us(self, planned: Planned) -> float | None:
        with contextlib.suppress(Exception):  # a user's function; it was sound when the plan was made
            return gpus.floor_us(planned.kernel.module.cost(**planned.trial.case), planned.trial.gpu)
        return None

    # Saving

    def _finish(self, planned: Planned, told: Told, judgement: Judgement) -> None:
        self.summary.outcomes[judgement.outcome] += 1
        for stage, spent in told.stages.items():
            self.summary.seconds[stage] += spent
        key = self._planned_key(planned)
        file, result = self._line(planned, told, judgement, self.tried[key] + 1)
        save(result, file)
        self.tried[key] += 1
        self.progress.end(f"{_words(planned.trial)}: {_says(judgement, told)}", judgement.outcome)

    def _put_off(self, planned: Planned, why: str) -> None:
        """No attempt, and so not done: the next run takes it up."""
        judgement = Judgement(Outcome.NOT_RUN, "not_run", why)
        self.summary.outcomes[judgement.outcome] += 1
        file, result = self._line(planned, Told(stage=""), judgement, attempt=0)
        save(result, file)
        self.progress.end(f"{_words(planned.trial)}: {why}", judgement.outcome)

    def _line(self, planned: Planned, told: Told, judgement: Judgement, attempt: int) -> tuple[Path, Result]:
        built = self.built[planned.environment]
        gpu = self.gpu if planned.device == "cuda" else None
        clocks = gpus.snapshot(self.options.gpu_index) if gpu and judgement.outcome == Outcome.OK else {}
        result = records.result(planned, told, judgement, built, gpu, self.id, attempt, self._ahead(planned))
        if result.time:
            result.time.update(floor_us=self._floor_us(planned), clocks=clocks)
        file = self.options.results / records.place(planned, built, gpu)
        self.summary.files.add(str(file))
        return file, result


def run(planned: Sequence[Planned], gpu: gpus.Gpu | None, options: Options) -> Summary:
    """Run what the results folder lacks. Calling it again goes on where it stopped."""
    return Run(planned, gpu, options)()


def _words(trial: Trial) -> str:
    return f"{trial.kernel} {trial.label} {trial.mode} | {trial.environment}"


def _says(judgement: Judgement, told: Told) -> str:
    median_us = told.facts.get("time", {}).get("median_us")
    if judgement.outcome == Outcome.OK and median_us is not None:
        return f"ok, {median_us:.4g} us"
    return f"{judgement.outcome} ({judgement.reason}) {judgement.detail}"[:200]
