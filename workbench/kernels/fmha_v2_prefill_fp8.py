"""trtllm_fmha_v2_prefill with query, keys and values in e4m3, on the cases of trtllm_prefill_fp8.py: for SM90.

FlashInfer refuses it for SM120. Some releases (0.6.11.post1, 0.6.14; not 0.6.8.post1, 0.6.15) warn of kernels that
hang on SM90, and call them all the same. The module is one of its own, of 134 sources for SM90.

TOLERANCE and what it misses: as in trtllm_prefill_fp8.py.
Source: flashinfer/prefill.py, csrc/fmha_v2.
"""

from typing import Any

from . import trtllm_prefill_fp8
from ._paged import into

API = "flashinfer.prefill.trtllm_fmha_v2_prefill"
DEVICES = ("cuda",)
TOLERANCE = 8e-2
VARIES = ("query",)
SIZE = "batch"
CASES = trtllm_prefill_fp8.CASES

inputs, part, reference = trtllm_prefill_fp8.inputs, trtllm_prefill_fp8.part, trtllm_prefill_fp8.reference
reached, cost = trtllm_prefill_fp8.reached, trtllm_prefill_fp8.cost


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    mask = "sliding_window" if inputs["window"] >= 0 else "causal"
    named = dict(qkv=(inputs["query"], inputs["kv"]), input_layout="Q_PAGED_KV_HND", mask_mode=mask)
    asked = trtllm_prefill_fp8.asked(inputs)
    return into(trtllm_prefill_fp8.empty_answer(inputs), function, **named, **asked)
