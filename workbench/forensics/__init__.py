"""Makes the attempts that look for the cause of a fault: each in a process of its own, with a tool or a condition.

A tool's report and a dump lie in a folder that is deleted with the attempt; what is kept are the findings.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import sanitizer
from workbench.environments import Built
from workbench.forensics import coredump, device_fault, whereabouts
from workbench.judge import Judgement
from workbench.planning import Planned
from workbench.reruns import Rerun
from workbench.results import SANITIZED, Outcome
from workbench.untrusted import MESSAGE, plain
from workbench.workers import Told

if TYPE_CHECKING:
    from workbench.crew import Crew

SLOWER = 4  # times longer may each stage take under the sanitizer
CONNECT_S = 300
PADDING = 1024  # bytes of nobody's after each allocation; without, a stray read lands in the next one, unseen
MOST_REPORT = 4_000_000
ABSENT = (
    "compute-sanitizer is not on the PATH: install it with the CUDA toolkit, or alone (conda install -c nvidia "
    "cuda-sanitizer-api), and run the same command again"
)


def is_sanitized(planned: Planned) -> bool:
    return planned.trial.mode in SANITIZED and planned.device is not None


def missing(planned: Planned) -> str:
    """What must be installed before this trial can run; empty where nothing is missing."""
    if is_sanitized(planned) and planned.size:
        return "trials of several ranks are not run under compute-sanitizer"
    return ABSENT if is_sanitized(planned) and coredump.tool("compute-sanitizer") is None else ""


def sanitized(crew: "Crew", planned: Planned, built: Built) -> tuple[Told, Judgement]:
    """One attempt under compute-sanitizer; every tensor in an allocation of its own."""
    checker = SANITIZED[planned.trial.mode]
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        log = Path(folder) / "report.txt"
        told = crew.alone(
            planned, built, prefix=_prefix(checker, log), slower=SLOWER,
            variables={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
        )  # fmt: skip
        text = _read(log) or f"{told.stdout}\n{told.stderr}"
    if not told.began:
        return told, _not_started(text)
    found = sanitizer.placed(sanitizer.findings(text), told.facts.get("tensors", []))
    report = {
        "tool": checker,
        "findings": found,
        "errors": sanitizer.errors(text),
        "blind": sanitizer.blind(text),
    }
    _add(told, sanitizer=report)
    if found:
        worst = sanitizer.gravest(found)
        fault = {"kernel": worst["kernel"], "by": "sanitizer", "error": sanitizer.says(worst)}
        _add(told, fault=_with_its_home(fault, told, built))
    return told, sanitizer.judged(crew.judged(planned, told, built), report)


def _not_started(text: str) -> Judgement:
    lines = [plain(line, MESSAGE) for line in text.splitlines() if line.strip(" =")]
    detail = f"compute-sanitizer did not start the interpreter: {(lines or ['it said nothing'])[-1]}"
    return Judgement(Outcome.NOT_RUN, "env_problem", detail)


def _prefix(checker: str, log: Path) -> list[str]:
    """Errors of calls are left out, for libraries make some on purpose; so are host frames, an interpreter's."""
    options = ["--tool", checker, "--log-file", str(log), "--target-processes", "application-only"]
    options += ["--show-backtrace", "device", "--require-cuda-init", "no", "--launch-timeout", str(CONNECT_S)]
    memcheck = ["--report-api-errors", "no", "--padding", str(PADDING)] if checker == "memcheck" else []
    return [str(coredump.tool("compute-sanitizer")), *options, *memcheck]


def _read(log: Path) -> str:
    try:
        with log.open("rb") as file:
            return file.read(MOST_REPORT).decode("utf-8", "replace")
    except OSError:
        return ""


def again(crew: "Crew", planned: Planned, built: Built, rerun: Rerun) -> tuple[Told, Judgement]:
    """The further attempt that a crash has asked for."""
    return (
        _located(crew, planned, built) if rerun.why == "located" else _narrowed(crew, planned, built, rerun)
    )


def _located(crew: "Crew", planned: Planned, built: Built) -> tuple[Told, Judgement]:
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder:
        told = crew.alone(planned, built, variables=coredump.variables(Path(folder)))
        fault = coredump.fault(Path(folder), told.stderr)
    judgement = crew.judged(planned, told, built)
    if fault is None and judgement.outcome != Outcome.CRASHED:
        return told, judgement  # it did not fault again, or hung
    fault = fault or device_fault.waited_for(judgement)
    _add(told, fault=_with_its_home(fault, told, built))
    return told, device_fault.judged(judgement, fault)


def _narrowed(crew: "Crew", planned: Planned, built: Built, rerun: Rerun) -> tuple[Told, Judgement]:
    told = crew.alone(planned, built, **rerun.command)
    fence: Any = told.facts.get("forensic", {}).get("fence")
    known: Mapping[str, Any] = fence if isinstance(fence, dict) else {}
    _add(told, fence={**known, **rerun.command["fence"]})  # also where it died before it told of its fence
    return told, crew.judged(planned, told, built)


def _with_its_home(fault: Mapping[str, Any], told: Told, built: Built) -> dict[str, Any]:
    """The fault with the file and the package of its kernel, and the FlashInfer modules that the call has used."""
    building = told.facts.get("building", {}).get("module")
    modules = [*told.facts.get("prebuilt", []), *([building] if isinstance(building, str) else [])]
    used = {"modules": sorted(set(modules))} if modules else {}
    return {**fault, **used, **whereabouts.of_kernel(built.python, fault["kernel"])}


def _add(told: Told, **found: Any) -> None:
    told.facts["forensic"] = {**told.facts.get("forensic", {}), **found}
