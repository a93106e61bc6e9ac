"""Names the kernel that a fault on the GPU happened in, from texts that say so. Pure; the texts are untrusted.

In order of worth: what cuda-gdb says of a GPU core dump, what the driver printed while it wrote the dump, and
last the error of a launch that was waited for, which names the call and no kernel.
"""

import re
from collections.abc import Mapping
from typing import Any

from workbench.judge import Judgement
from workbench.results import OUTCOME_OF_REASON
from workbench.untrusted import MESSAGE, plain

KERNEL_CHARACTERS = 300
REASONS = {
    "misaligned": "misaligned_address",
    "illegal instruction": "illegal_instruction",
    "assert": "launch_failure",
    "overflow": "launch_failure",
    "address": "illegal_memory_access",
}
"""By a word of the exception's name; the first that fits."""

_EXCEPTION = re.compile(r"^CUDA Exception: ([^\n]{1,100})", re.MULTILINE)
_FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?([^\n]{1,4000}?)<<<\(", re.MULTILINE)
_AT = re.compile(r"^The exception was triggered at PC 0x[0-9a-f]+ +([^\n(]{1,2000})", re.MULTILINE)
_ROW = re.compile(r"^\*? +\d+ .*?\(\d+,\d+,\d+\) +\(\d+,\d+,\d+\) +(\S[^\n]{0,2000})", re.MULTILINE)
_DETECTED = re.compile(r"coredump: Detected an exception of type CUDBG_EXCEPTION_(\w{1,60})")
_TRACE = re.compile(r"coredump: +#\d+\s+0x[0-9a-fA-F]+\s+(\S{1,2000})")


def from_debugger(text: str) -> dict[str, str] | None:
    """The fault in what `target cudacore FILE`, `bt` and `info cuda kernels` print; None where they name no kernel."""
    name = next((found for pattern in (_FRAME, _AT, _ROW) if (found := pattern.search(text))), None)
    error = _EXCEPTION.search(text)
    return _fault(name.group(1), error.group(1) if error else "") if name else None


def from_driver(text: str) -> dict[str, str] | None:
    """The fault in what the driver prints while it writes a dump; the kernel is the outermost frame."""
    detected = _DETECTED.search(text)
    frames = _TRACE.findall(text[detected.end() :].split("coredump: Detected")[0]) if detected else []
    error = detected.group(1).replace("_", " ").lower() if detected else ""
    return _fault(frames[-1], error) if frames else None


def _fault(kernel: str, error: str) -> dict[str, str]:
    kernel = re.sub(r"\(\.\.\.\)|\.\.\.$", "", kernel.strip())
    return {
        "kernel": plain(kernel, KERNEL_CHARACTERS),
        "by": "core dump",
        "error": plain(error.lower(), MESSAGE),
    }


def waited_for(judgement: Judgement) -> dict[str, str]:
    """Of a fault whose kernel nothing names."""
    return {"kernel": "", "by": "blocking launch", "error": plain(judgement.detail, MESSAGE)}


def judged(judgement: Judgement, fault: Mapping[str, Any]) -> Judgement:
    """The judgement with the kernel first. A process that the dump has ended says nothing else of the cause."""
    if not fault["kernel"]:
        return judgement
    words = (reason for word, reason in REASONS.items() if word in fault["error"])
    reason = next(words, judgement.reason)
    error = fault["error"] or judgement.reason.replace("_", " ")
    detail = f"{fault['kernel']}: {error} (by the {fault['by']}); {judgement.detail}"
    return Judgement(OUTCOME_OF_REASON[reason], reason, detail[:500])
