"""Faults on the device: 700 and its kin.

They spoil the context: every later call repeats them, in any frame. So the frame is no evidence, and the
first report counts even where it only explains a skipped tactic.
"""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import sign


def _assertion(evidence: Evidence, found: re.Match[str], where: int) -> str:
    near = " ".join(evidence.lines[max(0, where - 8) : where + 3])
    return (
        "wrong_numbers"
        if re.search(r"\b(?:nan|inf|isfinite|isnan)\b", near, re.IGNORECASE)
        else "launch_failure"
    )


FAULTS = (
    sign(
        "illegal_memory_access",
        "illegal memory access",
        "cudaErrorIllegalAddress",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        r"invalid (?:device|__\w+__) (?:read|write|atomic)",
        "operation not supported on global/shared address space",
    ),
    sign(
        "misaligned_address",
        "misaligned address",
        "cudaErrorMisalignedAddress",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ),
    sign(
        "illegal_instruction",
        "illegal instruction was encountered",
        "cudaErrorIllegalInstruction",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    ),
    sign(
        "launch_failure",
        "unspecified launch failure",
        "cudaErrorLaunchFailure",
        "CUDA_ERROR_LAUNCH_FAILED",
        "hardware stack error",
        "invalid program counter",
    ),
    sign(
        _assertion,
        "device-side assert triggered",
        "cudaErrorAssert",
        "CUDA_ERROR_ASSERT",
    ),
    sign(
        "hang_timeout",
        "launch timed out and was terminated",
        "cudaErrorLaunchTimeout",
    ),
)

DRIVER_NOTES = (
    sign(
        "illegal_memory_access",
        r"\bXid\b.{0,60}\): 31\b",
        "MMU Fault",
        note="by the driver's own log",
    ),
    sign(
        "misaligned_address",
        r"\bXid\b.{0,60}\): 13\b.{0,200}misaligned",
        note="by the driver's own log",
    ),
    sign(
        "illegal_instruction",
        r"\bXid\b.{0,60}\): 13\b.{0,200}illegal instruction",
        note="by the driver's own log",
    ),
    sign(
        "launch_failure",
        r"\bXid\b.{0,60}\): 13\b",
        note="by the driver's own log",
    ),
)
"""The system log of one fault: tried where the process itself names none."""
