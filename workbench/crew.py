"""Makes attempts: keeps a warm worker a place, judges what it told, and looks after the GPU between them."""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from workbench import canary, cuobjdump, environments, forensics, gpus, modules, planning, prebuilt
from workbench.environments import Built, Environment
from workbench.judge import Facts, Judgement, death, judge
from workbench.options import Options
from workbench.planning import Planned
from workbench.progress import Progress
from workbench.reruns import Rerun
from workbench.results import Outcome
from workbench.teams import Team
from workbench.workers import LIMITS_S, Told, Worker

CRASHES = (Outcome.CRASHED, Outcome.HUNG)
NOT_FOUND = (Outcome.FAILED, Outcome.MISSING, Outcome.CRASHED)  # as where somebody deleted the environment
LONG_BUILD_S = 6 * 3600.0


class PutOff(Exception):
    """What a trial needs is not there any more: no attempt, and the next run takes it up."""


class Crew:
    """Warm workers by place: one environment needs one place, interleaved ones have a place each."""

    def __init__(
        self, gpu: gpus.Gpu | None, options: Options, progress: Progress, others: Sequence[gpus.Gpu] = ()
    ):
        """`others` are the cards beside `gpu` for trials of several ranks."""
        self.gpu, self.options, self.progress = gpu, options, progress
        self.cards = [gpu, *others] if gpu else []
        long = {"build": LONG_BUILD_S} if options.build else {}
        self.limits_s = {**LIMITS_S, **long, **options.limits_s}
        self.ahead: dict[Environment, dict[str, prebuilt.Module]] = {}
        self.workers: dict[str, Worker | Team] = {}
        self.spoilt: dict[Environment, str] = {}
        self.quarantine = ""

    def attempt(
        self, planned: Planned, built: Built, place: str = "", last: bool = False, **more: Any
    ) -> tuple[Told, Judgement]:
        """One attempt in the worker of that place; `last` closes it. Raises PutOff."""
        if why := self._why_not(planned, built, fresh=place not in self.workers):
            raise PutOff(why)
        if forensics.is_sanitized(planned):
            return self._proven(planned, built, *forensics.sanitized(self, planned, built))
        if modules.is_one(planned):
            try:
                told = modules.compile_only(planned, built, self.options, self.progress)
            except modules.NotMade as problem:
                raise PutOff(str(problem)) from problem
            return told, self.judged(planned, told, built)
        told = self._told(planned, built, place, more)
        judgement = self.judged(planned, told, built)
        if judgement.outcome in NOT_FOUND and not built.python.exists():
            raise PutOff(self._why_not(planned, built, fresh=True))
        if last and place in self.workers:
            judgement = _with_its_end(judgement, self.workers.pop(place).close())
        return self._proven(planned, built, told, judgement)

    def again(self, planned: Planned, built: Built, rerun: Rerun) -> tuple[Told, Judgement]:
        """A further attempt, in a process of its own. Raises PutOff."""
        if why := self._why_not(planned, built, fresh=True):
            raise PutOff(why)
        return self._proven(planned, built, *forensics.again(self, planned, built, rerun))

    def alone(
        self, planned: Planned, built: Built, *, prefix: Sequence[str] = (), slower: float = 1,
        variables: Mapping[str, str] | None = None, **more: Any,
    ) -> Told:  # fmt: skip
        """One trial in a process that no other uses, and that has ended when this returns; `prefix` is a tool's."""
        limits_s = {stage: slower * limit for stage, limit in self.limits_s.items()}
        worker = self._worker(built, planned, variables or {}, prefix)
        try:
            told = worker.run({**self._command(planned), **more}, limits_s, self._heard)
            worker.close(limits_s["done"])
        finally:
            worker.kill()
        return told

    def _told(self, planned: Planned, built: Built, place: str, more: Mapping[str, Any]) -> Told:
        if place in self.workers and self.workers[place].size != planned.size:
            self.close(place)
        warm = place in self.workers
        worker = self.workers.setdefault(place, self.workers.get(place) or self._worker(built, planned))
        told = worker.run({**self._command(planned), **more}, self.limits_s, self._heard)
        if why := _not_its_doing(told, warm):
            self.progress.say(f"the process {why}; it has a new one")
            if told.began:
                time.sleep(self.options.patience_s)
            worker = self.workers[place] = self._worker(built, planned)
            told = worker.run({**self._command(planned), **more}, self.limits_s, self._heard)
        if told.worker_over:
            del self.workers[place]
            if told.ended_from_outside:
                time.sleep(self.options.patience_s)
        return told

    def assemble(self, first: Mapping[str, tuple[Planned, Built]]) -> None:
        """Start these places' workers side by side, as far as the device; nothing is timed meanwhile.

        One that does not come up is dropped: its first attempt begins anew, and tells why.
        """
        can = [place for place, pair in first.items() if not self._why_not(*pair, fresh=True)]
        with ThreadPoolExecutor() as side_by_side:
            ready = side_by_side.map(lambda place: self._ready(*first[place]), can)
        self.workers.update({place: each for place, each in zip(can, ready, strict=True) if each})

    def _ready(self, planned: Planned, built: Built) -> Worker | Team | None:
        worker = self._worker(built, planned)
        told = worker.run({**self._command(planned), "ready": True}, self.limits_s)
        return None if told.worker_over else worker

    def close(self, *places: str) -> None:
        """Let the workers of these places, or all, end by themselves, side by side."""
        leaving = [
            self.workers.pop(place) for place in places or tuple(self.workers) if place in self.workers
        ]
        with ThreadPoolExecutor() as side_by_side:
            list(side_by_side.map(lambda each: each.close(), leaving))

    def close_others(self, place: str) -> bool:
        """End all workers but this one; whether there were any."""
        others = [each for each in self.workers if each != place]
        if others:
            self.close(*others)
        return bool(others)

    def kill(self) -> None:
        while self.workers:
            self.workers.popitem()[1].kill()

    def compile(self, wanted: Sequence[tuple[Planned, Built]]) -> None:
        """What kernels compile, for all environments at once; what fails here fails again in its trial, and is told."""
        workers = [self._start(built, planned, among=len(wanted))({}) for planned, built in wanted]
        commands = [{**self._command(planned), "build_only": True} for planned, _ in wanted]
        with ThreadPoolExecutor(len(wanted)) as threads:
            try:
                pairs = zip(workers, commands, strict=True)
                for done in [threads.submit(_once, *each, self.limits_s) for each in pairs]:
                    done.result()
            except BaseException:
                for worker in workers:
                    worker.stop()
                raise

    def _worker(
        self,
        built: Built,
        planned: Planned,
        variables: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> Worker | Team:
        start = self._start(
            built, planned, variables or {}, prefix, planned.size.world if planned.size else 1
        )
        return Team(start, planned.size) if planned.size else start({})

    def _start(
        self,
        built: Built,
        planned: Planned,
        variables: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        among: int = 1,
    ) -> Callable[[Mapping[str, str]], Worker]:
        """Starts a worker with some more variables; the memory there is goes `among` so many."""
        memory_mb = self.options.memory_mb
        if memory_mb is None:
            import psutil

            memory_mb = int(psutil.virtual_memory().available * 0.8 / 2**20 / among)
        here = {**self._variables(built, self.cards[: planned.ranks]), **(variables or {})}
        return lambda more: Worker(built.python, {**here, **more}, memory_mb, prefix)

    def _variables(self, built: Built, cards: Sequence[gpus.Gpu]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        chosen = {"CUDA_VISIBLE_DEVICES": ",".join(card.uuid for card in cards)} if cards else {}
        return {**kept, **chosen, **built.variables}

    def _command(self, planned: Planned) -> dict[str, Any]:
        return {
            "kernel_file": str(planned.kernel.file),
            "case": planned.trial.case,
            "mode": planned.trial.mode,
            "device": planned.device,
            "sm": planned.sm,
            "cuobjdump": cuobjdump.find(),
            "effort": self.options.effort,
            "l2": self.options.l2,
            "prebuilt": {name: str(module.file) for name, module in self.ahead_of(planned).items()},
            "build": self.options.build,
            "no_build": self.options.no_build,
        }

    def ahead_of(self, planned: Planned) -> dict[str, prebuilt.Module]:
        return self.ahead.get(planned.environment, {})

    def _heard(self, facts: Mapping[str, Any]) -> None:
        """Say how far a long build is."""
        building = facts.get("building")
        if isinstance(building, dict):
            self.progress.building(str(building.get("module")), building.get("made"), building.get("of"))

    def _why_not(self, planned: Planned, built: Built, fresh: bool) -> str:
        """What has become since the plan was made of what the trial needs; empty where all is as it was."""
        if self.quarantine and planned.device == "cuda":
            return f"the GPU is not used any more: {self.quarantine}"
        if why := forensics.missing(planned):
            return why
        if planned.device == "cuda" and planned.ranks > len(self.cards):
            return f"{planned.ranks} GPUs are needed, {_count(len(self.cards))} here"
        if fresh and not self.spoilt.get(built.environment):
            self.spoilt[built.environment] = environments.changed(built)
        if problem := self.spoilt.get(built.environment):
            return f"{problem}; run the same command again"
        with contextlib.suppress(OSError):
            if planning.hash_of(planned.kernel.file) == planned.kernel.hash:
                return ""
        return "the kernel's file was changed during the run; run the same command again"

    def _proven(
        self, planned: Planned, built: Built, told: Told, judgement: Judgement
    ) -> tuple[Told, Judgement]:
        if judgement.outcome in CRASHES and planned.device == "cuda":
            self._canaries(planned, built, judgement)
        return told, judgement

    def _canaries(self, planned: Planned, built: Built, after: Judgement) -> None:
        """After a crash each GPU must prove itself in a fresh process before it is used again."""
        places = [self._variables(built, [card]) for card in self.cards[: planned.ranks]]
        with ThreadPoolExecutor(max(1, len(places))) as threads:
            problems = list(filter(None, threads.map(partial(canary.sing, built.python), places)))
        for problem in problems[:1]:
            self.quarantine = f"{problem[:200]} (canary after: {after.detail[:200]})"
            self.progress.say(f"The GPU failed its canary and is left alone: {self.quarantine}")

    def judged(self, planned: Planned, told: Told, built: Built) -> Judgement:
        judgement = judge(
            Facts(
                stage=told.stage,
                told=told.facts,
                api=planned.kernel.module.API,
                end=told.end,
                killed=told.killed,
                code=told.code,
                garbage=told.garbage,
                limit_s=self.limits_s.get(told.stage),
                floor_us=self.floor_us(planned),
                stderr=told.own.get("stderr", told.stderr),
                stdout=told.own.get("stdout", told.stdout),
                sm=planned.sm,
                gpu=planned.trial.gpu,
                versions={**built.inherited, **built.packages},
                lacks=built.lacks,
            )
        )
        return replace(judgement, detail=f"{told.who}: {judgement.detail}") if told.who else judgement

    def floor_us(self, planned: Planned) -> float | None:
        with contextlib.suppress(Exception):  # a user's function; it was sound when the plan was made
            return gpus.floor_us(planned.kernel.module.cost(**planned.trial.case), planned.trial.gpu)
        return None


def _not_its_doing(told: Told, warm: bool) -> str:
    """Why what ended the process is taken for nothing of this trial's, the first time; empty where it may be."""
    if not told.began and (warm or told.ended_from_outside):
        return "ended before the trial began"
    return "was ended from outside in the middle of the trial" if told.ended_by_somebody else ""


def _once(worker: Worker, command: Mapping[str, Any], limits_s: Mapping[str, float]) -> None:
    worker.run(command, limits_s)
    worker.close()


def _count(cards: int) -> str:
    return f"{cards} {'is' if cards == 1 else 'are'}"


def _with_its_end(judgement: Judgement, told: Told) -> Judgement:
    """An answer that was right stays right when its process then dies; the death is said."""
    if told.code in (0, None) and not told.killed:
        return judgement
    how = "did not end" if told.killed else death(told.code or 0)
    detail = f"{judgement.detail}; then the process {how} at its end"
    return Judgement(judgement.outcome, judgement.reason, detail)
