"""Facts of one attempt -> how it ended. Pure: no process, no GPU, no file.

Order matters: a refused build and our own kill first, then what the answer says, then the exception, then the way
it died.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench import compiled, reasons
from workbench.results import OUTCOME_OF_REASON, Outcome

TOO_FAST = 0.97  # of the nominal floor; datasheets are rounded
UNTOUCHED = 0.99
DETAIL_CHARACTERS = 500
UNDEFINED = re.compile(r"/([\w+-]+)\.so: undefined symbol: (\w+)")


@dataclass(frozen=True)
class Facts:
    """What is known of an attempt. `killed`: limit, idle or memory, by us. `code`: exit code, negative a signal.

    `lacks`: what packages of the environment declare and it has not, by name, in words.
    """

    stage: str
    told: Mapping[str, Any]
    api: str = ""
    end: str | None = None
    killed: str | None = None
    code: int | None = None
    garbage: int = 0
    limit_s: float | None = None
    floor_us: float | None = None
    stderr: str = ""
    stdout: str = ""
    sm: str = ""
    gpu: str = ""
    versions: Mapping[str, str] | None = None
    lacks: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Judgement:
    outcome: Outcome
    reason: str
    detail: str


def judge(facts: Facts) -> Judgement:
    """How the attempt ended. A death that no rule can place is `unknown`, never a guess."""
    reason, detail = _reason(facts)
    detail += _rung(facts) if reason != "ok" else ""
    return Judgement(OUTCOME_OF_REASON.get(reason, Outcome.FAILED), reason, detail[:DETAIL_CHARACTERS])


def _rung(facts: Facts) -> str:
    """At which size of a ladder of graphs it happened, as the worker said before each step."""
    at = facts.told.get("piecewise")
    if not isinstance(at, dict) or "size" not in at:
        return ""
    return f" [at size {str(at['size'])[:20]} of the ladder, in {str(at.get('step'))[:20]}]"


def _reason(facts: Facts) -> tuple[str, str]:
    if facts.garbage:
        return "channel_corrupted", f"{facts.stage}: {facts.garbage} lines on the channel that are not ours"
    if refused := facts.told.get("refused"):  # however it went on: it is not what was asked for
        return "not_run", refused
    if facts.killed == "memory":
        return "oom_host", f"{facts.stage}: the process tree took more memory than it may"
    if facts.killed == "idle":
        return "hang_timeout", f"{facts.stage}: no compiler was at work any more; ended"
    if facts.killed and facts.end is None:
        return "hang_timeout", f"{facts.stage}: not done after {facts.limit_s:g} s; ended by us"
    if facts.end == "done":
        return _answered(facts)
    if facts.end == "stopped":
        stopped = facts.told.get("stopped", {})
        reason = stopped.get("reason")
        return reason if reason in OUTCOME_OF_REASON else "unknown", str(stopped.get("message", ""))
    if incomplete := _incomplete(facts):
        return "not_run", incomplete
    if facts.end == "exception":
        return _raised(facts)
    return _died(facts)


def _incomplete(facts: Facts) -> str:
    """A module that was brought along and lacks what the call needs says nothing about the environment."""
    raised = str(facts.told.get("exception", {}).get("message", ""))
    for name, symbol in UNDEFINED.findall(f"{facts.stderr}\n{raised}"):
        if name in facts.told.get("prebuilt", ()):
            return (
                f"{facts.stage}: a module that was built ahead lacks what this call needs; build it with `workbench "
                f"prebuild` without --only and --leave-out, or leave out less: {name} has no {symbol}"
            )
    return ""


def _answered(facts: Facts) -> tuple[str, str]:
    forensic = facts.told.get("forensic")
    if isinstance(forensic, dict) and (made := forensic.get("compiled") or forensic.get("launched")):
        return compiled.judge(made, launched="launched" in forensic)
    for name in ("check", "check_changed"):
        check = facts.told.get(name)
        if check is None and name == "check":
            return "unknown", "it was done without a check"
        if check is not None and not check.get("right"):
            return "wrong_numbers", _wrong(check, name)
    median_us = facts.told.get("time", {}).get("median_us")
    if median_us is not None and facts.floor_us and median_us < TOO_FAST * facts.floor_us:
        return "measurement_invalid", f"{median_us:.3g} us, but the hardware needs {facts.floor_us:.3g} us"
    error = facts.told["check"].get("error")
    return "ok", f"worst row off by {error:.2g}" if isinstance(error, float) else ""


def _wrong(check: Mapping[str, Any], name: str) -> str:
    if check.get("untouched", 0) >= UNTOUCHED:
        return "nothing was written: the outputs still hold what lay in memory before the call"
    when = " after its inputs had changed" if name == "check_changed" else ""
    if check.get("nonfinite"):
        return f"{check['nonfinite']} values are not finite{when} ({check.get('where')})"
    error, tolerance = check.get("error"), check.get("tolerance")
    if error is None:
        return f"{check.get('where')}{when}"
    return (
        f"worst row off by {error:.3g}, allowed {tolerance:g}{when} ({check.get('where')}{_element(check)})"
    )


def _element(check: Mapping[str, Any]) -> str:
    worst = check.get("worst")
    if not isinstance(worst, dict):
        return ""
    place = f", column {worst.get('column')} of {worst.get('of')}"
    return f"{place}: {worst.get('got')} for {worst.get('wanted')}, {_many(worst.get('as_far'))} as far off"


def _many(count: object) -> str:
    return f"{count} element{'s' * (count != 1)}"


def _raised(facts: Facts) -> tuple[str, str]:
    raised = facts.told.get("exception", {})
    name, message = str(raised.get("type")), str(raised.get("message", ""))
    said = f"{facts.stage}: {name}: {message}"
    if name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit"):
        return "exited_early", f"{facts.stage}: the called code wanted to end the process ({name} {message})"
    if facts.stage == "find" and name == "AttributeError":
        return "api_changed", f"find: {message}"
    missing = raised.get("missing")
    if facts.stage == "import" and name == "ModuleNotFoundError" and missing == facts.api.split(".")[0]:
        return "component_missing", f"{missing} is not in this environment; {_how_to_add(missing)}"
    if name == "ModuleNotFoundError" and (lacking := _lacking(str(missing), facts.lacks or {})):
        return "env_problem", f"{said}: the environment lacks {lacking}"
    reason, detail = reasons.classify(_record(facts, name, message))
    return reason, detail if reason != "unknown" and detail else said


def _lacking(module: str, lacks: Mapping[str, str]) -> str:
    """Of what the environment lacks that which is named as the module: `cutlass` is of nvidia-cutlass-dsl."""
    words = "-" + re.sub(r"[._]+", "-", module)
    return ", ".join(text for name, text in lacks.items() if words in f"-{name}")


def _how_to_add(module: str) -> str:
    if module == "triton_kernels":
        return "run it with --environment 'flashinfer==X triton_kernels@sglang-kernel==Y'"
    return f"run it with --environment {module}==X, or for `here`: pip install -e '.[measure]'"


def _died(facts: Facts) -> tuple[str, str]:
    if facts.code is None:
        return "unknown", f"{facts.stage}: the worker and its guard are gone, and nobody knows how"
    if facts.code == 0:
        return "exited_early", f"{facts.stage}: the process ended with exit code 0 before it was done"
    how = f"{facts.stage}: {death(facts.code)}"
    reason, detail = reasons.classify(_record(facts, None, None))
    if reason in ("unknown", "ok"):
        reason = "segfault_abort" if facts.code < 0 else "unknown"
    return reason, f"{how}: {detail}" if detail else how


def death(code: int) -> str:
    """The words for an exit code, such as "killed by SIGSEGV"."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _record(facts: Facts, name: str | None, message: str | None) -> dict[str, Any]:
    return {
        "kind": "kernel",
        "gpu": facts.gpu,
        "sm": facts.sm.replace(".", ""),
        "versions": dict(facts.versions or {}),
        "stderr": facts.stderr,
        "stdout": facts.stdout,
        "returncode_or_signal": 1 if name else facts.code,
        "timed_out_by_harness": False,
        "stage": facts.stage,
        "exception": name,
        "message": message,
    }
