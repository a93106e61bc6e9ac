"""Which memory ran out: the GPU's, the host's, or a kernel's share of a multiprocessor."""

from __future__ import annotations

import re
from dataclasses import replace

from .ending import VICTIMS
from .evidence import Evidence
from .signs import first, sign

_FELL_BACK = re.compile(
    r"default(?:ing)? to dequanti|dequantiz\w+ (?:the )?(?:model|weights)? ?to b?f", re.IGNORECASE
)


def _device(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """Memory that ran out over another kernel's wider weights is no fact of the wanted one."""
    return "not_exercised" if any(map(_FELL_BACK.search, evidence.lines[:where])) else "oom"


def _killed(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """A shell's word for signal 9. After a timeout it is the launcher's clean-up."""
    return None if first(VICTIMS, replace(evidence, lines=evidence.lines[:where])) else "oom_host"


MEMORY = (
    sign(
        "bad_argument",
        "out of workspace memory",
        "workspace (?:buffer )?(?:size )?(?:is )?(?:too small|not (?:large|big) enough|overflow|insufficient)",
        r"increase (?:the )?(?:\w+ )?workspace",
        r"allocate memory for .{0,120}\bin AlignedAlloc",
        note="the caller's workspace buffer is too small, not the GPU's memory",
    ),
    sign(
        "resource_exhausted",
        r"out ?of ?resources?:? ?\(?(?:shared memory|threads|registers|tensor memory)",
        r"OutOfResources(?!\()",  # not the source line that raises it
        "uses too much shared (?:data|memory)",
        "exceeds? .{0,40}shared memory",
        "not enough shared memory",
        "shared memory .{0,60}(?:exceeds|exceeded|too large|limit)",
        "assert num_stages >= 1",
        note="shared memory or registers, not the GPU's memory",
    ),
    sign(
        "oom_host",
        r"\boom[-_ ]kill",
        "Out of memory: Killed process",
        r"\[code=137\]",
        r"\bsignal 9\b",
        r"exit ?code:? -9\b",
        r"Killed\s{2,}",
        "killed by the OOM",
        "Killed signal terminated program",
        r"exit(?:ed with)?(?: code| status)? 137\b",
        "OOMKilled",
        r"\btasks? [\d,-]+: Out Of Memory",
        "std::bad_alloc",
        "Cannot allocate memory",
        "DefaultCPUAllocator: (?:can't|not enough)",
        "virtual memory exhausted",
    ),
    sign(
        _killed,
        r"(?:^|[\])] )\s*(?:/bin/sh: .{0,80})?Killed\s*$",
    ),
    sign(
        _device,
        "CUDA out of memory",
        "OutOfMemoryError",
        "cudaErrorMemoryAllocation",
        "CUDA_ERROR_OUT_OF_MEMORY",
        r"(?:CUDA|Triton|cuda\w*)\b.{0,60}: out of memory",
        "CUBLAS_STATUS_ALLOC_FAILED",
        "HIP out of memory",
        "no available memory for the cache blocks",
        "not enough (?:GPU )?memory",
    ),
    sign(
        "oom_host",
        r"(?<![\w.])MemoryError\b(?!.{0,40}CUDA)",
    ),
)
