"""Prefill attention over a paged cache: many new tokens a request, each of which sees itself and what was before.

`_prefill` tells the tensors. trtllm_batch_context_with_kv_cache is trtllm-gen, for SM100 and SM103 alone; on the
same cases stand batch_prefill.py (fa2, fa3) and fmha_v2_prefill.py.

TOLERANCE: probabilities and answer are rounded to bfloat16, about 3e-3 a head. Seen: a token too many or too few
for the rows that see a few hundred, a wrong page for all that see less than 8192, another window, sinks left out
of the first rows, or with a window. Missed: a token among thousands.
Source: flashinfer/prefill.py.
"""

import inspect
from typing import Any

from . import _prefill
from ._paged import into

API = "flashinfer.prefill.trtllm_batch_context_with_kv_cache"
DEVICES = ("cuda",)
SMS = (100, 103, 107)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
CASES = _prefill.cases()

inputs, part, reference = _prefill.inputs, _prefill.part, _prefill.reference
reached, cost = _prefill.reached, _prefill.cost


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    asked = dict(query=inputs["query"], kv_cache=inputs["kv"], **_prefill.asked(inputs))
    known = inspect.signature(function).parameters
    lacking = [name for name in asked if name not in known]
    if lacking:
        raise NotImplementedError(f"this version's prefill takes no {lacking[0]}")
    return into(torch.empty_like(inputs["query"]), function, **asked)


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched."""
    return True
