"""Plan, run, judge, save: drives the workers. Nothing else builds or computes while something is timed."""

import os
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench import canary, environments, gpus, locks, prebuilt, records
from workbench.environments import BuildError, Built, Environment
from workbench.judge import Facts, Judgement, death, judge
from workbench.planning import Planned
from workbench.progress import Progress
from workbench.results import Outcome, Result, Results, Trial, load, save
from workbench.workers import LIMITS_S, Told, Worker

CRASHES = (Outcome.CRASHED, Outcome.HUNG)
LONG_BUILD_S = 6 * 3600.0


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
        self.stored = load(options.results) if options.results.is_dir() else Results()
        self.quarantine = ""

    def __call__(self) -> Summary:
        began = time.monotonic()
        try:
            self._build_all()
            todo = self._todo()
            self._save_plan(todo)
            self.progress = Progress(len(todo), self.options.quiet)
            with locks.hold(self._lock_name(todo), self.options.wait, self.progress.say):
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

    def _lock_name(self, todo: Sequence[Planned]) -> str:
        uses_gpu = self.gpu and any(each.device == "cuda" for each in todo)
        return f"gpu-{self.gpu.uuid_hash}" if uses_gpu and self.gpu else f"no-gpu-{os.getpid()}"

    # What there is to do

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
        done = {self._key(result) for result in self.stored if result.attempt > 0}
        todo = [each for each in self.planned if self.options.again or self._planned_key(each) not in done]
        self.summary.skipped = len(self.planned) - len(todo)
        return todo

    @staticmethod
    def _key(result: Result) -> tuple[Trial, str, str]:
        return result.trial, result.environment_hash, result.kernel_hash

    def _planned_key(self, planned: Planned) -> tuple[Trial, str, str]:
        built = self.built[planned.environment]
        return planned.trial, built.hash if isinstance(built, Built) else "", planned.kernel.hash

    def _save_plan(self, todo: Iterable[Planned]) -> None:
        """A line for each trial before the first one starts: what stays of it if we are killed."""
        known = {self._key(result) for result in self.stored}
        nothing = Judgement(Outcome.NOT_RUN, "not_run", "planned; the run ended before it")
        for planned in todo:
            if self._planned_key(planned) not in known:
                self._save(planned, Told(stage=""), nothing, attempt=0)

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
                if self.quarantine and planned.device == "cuda":
                    self._finish(planned, Told(stage=""), self._quarantined())
                    continue
                self.progress.begin(_words(planned.trial))
                worker = worker or self._worker(built)
                told = worker.run(self._command(planned), self.limits_s, self._heard)
                judgement = self._judged(planned, told, built)
                if told.worker_over:
                    worker = None
                elif number == len(mine):
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

    def _quarantined(self) -> Judgement:
        return Judgement(Outcome.NOT_RUN, "not_run", f"the GPU is not used any more: {self.quarantine}")

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
        return gpus.floor_us(planned.kernel.module.cost(**planned.trial.case), planned.trial.gpu)

    # Saving

    def _finish(self, planned: Planned, told: Told, judgement: Judgement) -> None:
        self.summary.outcomes[judgement.outcome] += 1
        for stage, spent in told.stages.items():
            self.summary.seconds[stage] += spent
        self._save(planned, told, judgement, self._attempt(planned))
        self.progress.end(f"{_words(planned.trial)}: {_says(judgement, told)}", judgement.outcome)

    def _attempt(self, planned: Planned) -> int:
        key = self._planned_key(planned)
        return 1 + max((result.attempt for result in self.stored if self._key(result) == key), default=0)

    def _save(self, planned: Planned, told: Told, judgement: Judgement, attempt: int) -> None:
        built = self.built[planned.environment]
        gpu = self.gpu if planned.device == "cuda" else None
        clocks = gpus.snapshot(self.options.gpu_index) if gpu and judgement.outcome == Outcome.OK else {}
        result = records.result(planned, told, judgement, built, gpu, self.id, attempt, self._ahead(planned))
        if result.time:
            result.time.update(floor_us=self._floor_us(planned), clocks=clocks)
        file = self.options.results / records.place(planned, built, gpu)
        self.summary.files.add(str(file))
        save(result, file)


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
