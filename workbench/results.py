"""What came back: one Result an attempt; what a trial is worth is derived from its attempts. `store` keeps them."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from statistics import median
from typing import Any, TypeVar

SCHEMA = 1
LONGEST_GPU = 96  # characters; NVML's buffer for a name is no longer
WHEN = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]{2,8}Z?(\+\d{6})?)?")
Found = TypeVar("Found")
MODES = ("eager", "graph")  # how a kernel is called where nobody says how
# Mode -> the tool of compute-sanitizer under which it runs.
SANITIZED = {
    "sanitized": "memcheck", "sanitized+initcheck": "initcheck", "sanitized+racecheck": "racecheck",
}  # fmt: skip
# For latent faults: never timed.
FORENSIC_MODES = ("fenced", "fenced_start", "piecewise+fenced", *SANITIZED)
COMPILED = "compiled"  # nothing ran, so what is fine in this mode is told by its name and never as ok
# Asked for by name; stored results may know others.
MORE_MODES = ("eager+tuned", "graph+tuned", "piecewise", *FORENSIC_MODES, COMPILED)


class Outcome(StrEnum):
    OK = "ok"
    WRONG = "wrong"  # it ran, and the answer is off
    IMPLAUSIBLE = "implausible"  # faster than the hardware can be
    UNSUPPORTED = "unsupported"  # the library says so, for this GPU or this shape
    MISSING = "missing"  # this environment has no such function, or not as called
    FAILED = "failed"  # an exception
    CRASHED = "crashed"  # a GPU fault, a signal, an abort
    HUNG = "hung"  # ended by our limit
    OUT_OF_MEMORY = "out_of_memory"
    NOT_BUILT = "not_built"  # the environment could not be made
    NOT_EXERCISED = "not_exercised"  # another kernel ran instead
    NOT_RUN = "not_run"  # nothing is known of it


OUTCOME_OF_REASON: Mapping[str, Outcome] = {
    "ok": Outcome.OK,
    "slower": Outcome.OK,
    "inconclusive": Outcome.OK,
    "wrong_numbers": Outcome.WRONG,
    "undefined_value": Outcome.WRONG,
    "does_nothing": Outcome.WRONG,
    "measurement_invalid": Outcome.IMPLAUSIBLE,
    "unsupported_arch": Outcome.UNSUPPORTED,
    "no_kernel_for_config": Outcome.UNSUPPORTED,
    "api_changed": Outcome.MISSING,
    "component_missing": Outcome.MISSING,
    "import_error": Outcome.FAILED,
    "jit_compile_failure": Outcome.FAILED,
    "version_skew": Outcome.FAILED,
    "graph_capture_failure": Outcome.FAILED,
    "no_kernel_image": Outcome.FAILED,
    "resource_exhausted": Outcome.FAILED,
    "bad_argument": Outcome.FAILED,
    "channel_corrupted": Outcome.FAILED,
    "unknown": Outcome.FAILED,
    "illegal_memory_access": Outcome.CRASHED,
    "misaligned_address": Outcome.CRASHED,
    "illegal_instruction": Outcome.CRASHED,
    "launch_failure": Outcome.CRASHED,
    "segfault_abort": Outcome.CRASHED,
    "exited_early": Outcome.CRASHED,
    "hang_timeout": Outcome.HUNG,
    "oom": Outcome.OUT_OF_MEMORY,
    "oom_host": Outcome.OUT_OF_MEMORY,
    "not_built": Outcome.NOT_BUILT,
    "not_exercised": Outcome.NOT_EXERCISED,
    "not_run": Outcome.NOT_RUN,
    "node_lost": Outcome.NOT_RUN,
    "cancelled": Outcome.NOT_RUN,
    "time_limit": Outcome.NOT_RUN,
    "refused": Outcome.NOT_RUN,
    "missing_cubin": Outcome.NOT_RUN,
    "driver_mismatch": Outcome.NOT_RUN,
    "env_problem": Outcome.NOT_RUN,
    "notebook_kernel_missing": Outcome.NOT_RUN,
    "notebook_kernel_died": Outcome.NOT_RUN,
    "notebook_output_lost": Outcome.NOT_RUN,
    "notebook_error_swallowed": Outcome.NOT_RUN,
    "notebook_bad_param": Outcome.NOT_RUN,
    "notebook_nondeterministic": Outcome.NOT_RUN,
}
"""Reason class -> outcome. A missing cubin or an unfit driver says nothing of the kernel: it was not run."""

AGAINST = frozenset(
    {Outcome.WRONG, Outcome.IMPLAUSIBLE, Outcome.FAILED, Outcome.CRASHED, Outcome.HUNG}
    | {Outcome.OUT_OF_MEMORY, Outcome.NOT_BUILT}
)
"""Outcomes that speak against an environment; a call that a version has changed does as well."""


@dataclass(frozen=True)
class Trial:
    """What is planned and shown: one case of one kernel, called in one mode, in one environment, on one GPU.

    `gpu` is the device's name, "cpu" for kernels that run there ("cpu of SM90 node" on a cluster, for the CPUs of
    two nodes are two), "none" where there was no device.
    """

    kernel: str
    case: dict[str, Any]
    mode: str
    environment: str
    gpu: str

    @property
    def label(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.case.items())

    @cached_property
    def case_text(self) -> str:
        """The case as JSON, its keys in order: the same for the same case."""
        return json.dumps(self.case, sort_keys=True)

    @cached_property
    def _hash(self) -> int:
        return hash((self.kernel, self.case_text, self.mode, self.environment, self.gpu))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def id(self) -> str:
        """Ten hex digits by which a page or a command names the trial, the same in every run."""
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:10]


def told_as(trial: Trial, outcome: Outcome) -> str:
    """The word for how it ended: its outcome, or `compiled`."""
    return COMPILED if trial.mode == COMPILED and outcome == Outcome.OK else outcome.value


def is_gpu(text: str) -> bool:
    """Whether it can be what a trial's `gpu` is: printable ASCII, as NVML names devices, without spaces around it."""
    return len(text) <= LONGEST_GPU and re.fullmatch(r"[!-~]([ -~]*[!-~])?", text) is not None


def device(gpu: str) -> str:
    """What a trial's `gpu` names: "gpu", "cpu" or "none"."""
    first = gpu.partition(" ")[0]
    return first if first in ("cpu", "none") else "gpu"


@dataclass(frozen=True)
class Result:
    """One attempt at a trial. Times in `stages` are seconds, in `time` microseconds.

    `attempt` 0 is the line written when a run is planned: what stays if the run ends before it. `rerun` is
    why an attempt was made beyond the plan (located, narrowed); it explains a trial and does not count in it.
    `forensic` is what was found about a fault: fence, sanitizer, fault.
    """

    trial: Trial
    run: str
    outcome: Outcome
    reason: str
    detail: str = ""
    stage: str = ""
    arm: str = ""
    generation: int = 0
    visit: int = 0
    attempt: int = 1
    rerun: str = ""
    stages: dict[str, float] = field(default_factory=dict)
    found: dict[str, Any] = field(default_factory=dict)  # the function as this environment has it
    check: dict[str, Any] = field(default_factory=dict)  # errors against the reference
    time: dict[str, Any] = field(default_factory=dict)  # only where the outcome is ok
    forensic: dict[str, Any] = field(default_factory=dict)
    marks: list[str] = field(default_factory=list)  # what must be said wherever it is shown
    stderr: str = ""
    stdout: str = ""
    kernel_hash: str = ""
    inputs_hash: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        if self.time.get("samples_us") and self.outcome != Outcome.OK:
            raise ValueError(f"a trial that is {self.outcome} has no samples")

    @cached_property
    def median_us(self) -> float | None:
        samples = self.time.get("samples_us")
        return median(samples) if samples else None

    @property
    def known_by(self) -> tuple[Any, ...]:
        """The attempt that it is of: two lines that differ in nothing of this are of one."""
        return self.trial, self.run, self.arm, self.generation, self.visit, self.attempt

    @property
    def when(self) -> str:
        """By which attempts are in order: when it was made, or, where the clock was behind, after which it was."""
        said = str(self.provenance.get("after") or self.provenance.get("started", ""))
        return said if WHEN.fullmatch(said) else ""

    @property
    def environment_hash(self) -> str:
        return str(self.provenance.get("environment", {}).get("hash", ""))


@dataclass(frozen=True)
class Results:
    """Attempts in the order they were read, and what could not be read. Iterates over the attempts."""

    attempts: tuple[Result, ...] = ()
    problems: tuple[str, ...] = ()
    nothing: str = ""  # why a choice among them left none
    _known: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.attempts)

    def __len__(self) -> int:
        return len(self.attempts)

    def __repr__(self) -> str:
        return f"{len(self.attempts)} attempts at {len(self.trials())} trials, {len(self.problems)} problems"

    def once(self, name: Any, find: Callable[["Results"], Found]) -> Found:
        """`find(self)`, kept under this name for who asks again: attempts do not change, and pages ask often."""
        if name not in self._known:
            self._known[name] = find(self)
        return self._known[name]

    def by_trial(self) -> Mapping[Trial, Sequence[Result]]:
        """The attempts at each trial, in the order of first appearance."""
        return self.once("by_trial", _by_trial)

    def trials(self) -> Mapping[Trial, "Standing"]:
        """What each trial is worth, in the order of first appearance."""
        return self.once("trials", _standings)

    def only(self, **wanted: Iterable[str] | None) -> "Results":
        """Attempts whose trial has one of the wanted values: `only(kernel=["a"], gpu=None)`; None means all."""
        kept, nothing = self.attempts, self.nothing
        for name, values in wanted.items():
            if values:
                before, allowed = kept, set(values)
                kept = tuple(result for result in kept if getattr(result.trial, name) in allowed)
                nothing = nothing or ("" if kept else _none_of(before, name, sorted(allowed)))
        return Results(kept, self.problems, nothing)


def _by_trial(results: Results) -> dict[Trial, list[Result]]:
    grouped: dict[Trial, list[Result]] = {}
    for result in results:
        grouped.setdefault(result.trial, []).append(result)
    return grouped


def _standings(results: Results) -> dict[Trial, "Standing"]:
    return {trial: Standing.of(attempts) for trial, attempts in results.by_trial().items()}


def _none_of(before: Sequence[Result], name: str, wanted: Sequence[str]) -> str:
    """`454 trials, none of kernel 'nonsense'; there are a, b`; empty where there was nothing to choose from."""
    there = sorted({str(getattr(result.trial, name)) for result in before})
    trials = len({result.trial for result in before})
    shown = " or ".join(map(repr, wanted))
    return f"{trials} trials, none of {name} {shown}; there are {', '.join(there)}" if there else ""


@dataclass(frozen=True)
class Standing:
    """What a trial is worth, from its attempts: k of n attempts agree with `result`, the newest that says most.

    Only attempts at the newest version count, which is the kernel's file and the environment's contents;
    `earlier` is how many there are of others. All visits of interleaved processes are attempts at the trial;
    reruns are not.
    """

    result: Result
    agree: int
    tried: int
    outcomes: tuple[Outcome, ...]
    earlier: int = 0

    @classmethod
    def of(cls, attempts: Sequence[Result]) -> "Standing":
        planned = [result for result in attempts if not result.rerun] or attempts
        every = [result for result in planned if result.attempt > 0] or planned[-1:]
        tried = _of_newest_version(every)
        ran = [result for result in tried if result.outcome != Outcome.NOT_RUN] or tried
        against = [result for result in ran if result.outcome != Outcome.OK]
        shown = (against or ran)[-1]
        agree = sum(result.outcome == shown.outcome for result in ran)
        outcomes = tuple(dict.fromkeys(result.outcome for result in ran))
        return cls(shown, agree, len(ran), outcomes, len(every) - len(tried))

    @property
    def outcome(self) -> Outcome:
        return self.result.outcome

    @property
    def flaky(self) -> bool:
        return len(self.outcomes) > 1

    @property
    def against(self) -> bool:
        """Whether it speaks against its environment."""
        return self.outcome in AGAINST or self.result.reason == "api_changed"

    @property
    def word(self) -> str:
        return f"flaky {self.agree}/{self.tried} {self.outcome}" if self.flaky else str(self.outcome)


def _of_newest_version(attempts: Sequence[Result]) -> list[Result]:
    """Those with the kernel and the environment of the one that was made last.

    An attempt whose environment could not be made has no version, and gives way to those that have one.
    """
    known = [result for result in attempts if result.environment_hash] or attempts
    *_, newest = sorted(known, key=lambda result: result.when)
    return [result for result in known if _version(result) == _version(newest)]


def _version(result: Result) -> tuple[str, str]:
    return result.kernel_hash, result.environment_hash


def check_modes(wanted: Iterable[str], stored: Iterable[str] = ()) -> None:
    """Raises ValueError that names the modes there are: the workbench's, and those that are `stored`."""
    known = list(dict.fromkeys([*MODES, *MORE_MODES, *sorted(stored)]))
    unknown = [mode for mode in wanted if mode not in known]
    if unknown:
        raise ValueError(f"no mode {unknown[0]!r}; there are {', '.join(known)}")
