"""CUDA's error numbers, for lines that print the number alone. Source: the runtime API's `cudaError_t`."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import sign

CLASS_OF = {
    1: "launch_failure",
    2: "oom",
    9: "launch_failure",
    35: "driver_mismatch",
    46: "env_problem",
    98: "no_kernel_image",
    100: "env_problem",
    101: "env_problem",
    200: "no_kernel_image",
    209: "no_kernel_image",
    222: "driver_mismatch",
    400: "launch_failure",
    700: "illegal_memory_access",
    701: "resource_exhausted",
    702: "hang_timeout",
    710: "launch_failure",
    715: "illegal_instruction",
    716: "misaligned_address",
    717: "illegal_memory_access",
    718: "launch_failure",
    719: "launch_failure",
    720: "resource_exhausted",
    802: "driver_mismatch",
    803: "driver_mismatch",
    804: "driver_mismatch",
} | dict.fromkeys(range(900, 909), "graph_capture_failure")


def _by_number(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    return CLASS_OF.get(int(found.group(1)))


NUMBERED = (
    sign(
        _by_number,
        r"\b(?:cuda|curesult)\w*\b.{0,60}?\b(?:error|failure|err|status)(?: ?code)?"
        r"[ :=(#]{1,3}(\d{1,3})\b(?![.%]|/s)",
    ),
)
"""Tried after every sign that reads words: a text says more than its number."""
