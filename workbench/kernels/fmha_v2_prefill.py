"""trtllm_fmha_v2_prefill over a paged cache, on the cases of trtllm_prefill.py: for SM90 and SM120.

Its module has 130 sources and more for SM90, so that it is built only with `--build`, or brought.

TOLERANCE and what it misses: as in trtllm_prefill.py.
Source: flashinfer/prefill.py.
"""

from typing import Any

from . import _prefill
from ._paged import into

API = "flashinfer.prefill.trtllm_fmha_v2_prefill"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
CASES = _prefill.cases()

inputs, part, reference = _prefill.inputs, _prefill.part, _prefill.reference
reached, cost = _prefill.reached, _prefill.cost


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    mask = "sliding_window" if inputs["window"] >= 0 else "causal"
    named = dict(qkv=(inputs["query"], inputs["kv"]), input_layout="Q_PAGED_KV_HND", mask_mode=mask)
    return into(torch.empty_like(inputs["query"]), function, **named, **_prefill.asked(inputs))
