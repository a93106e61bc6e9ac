"""FlashInfer's prefill wrapper with a bfloat16 query over an fp8 cache: fa2, which turns the codes into bfloat16.

It is called as in batch_prefill_fp8.py, and computes as with a bfloat16 cache.

TOLERANCE: that of trtllm_prefill.py, with what it misses. A code is exact in bfloat16; the answer is rounded a second
time after the scale of the values, so that the worst head is 4e-3 off instead of 3e-3.
Source: flashinfer/prefill.py, include/flashinfer/attention/prefill.cuh.
"""

import functools

from . import batch_prefill_fp8, trtllm_prefill_fp8

API = "flashinfer.BatchPrefillWithPagedKVCacheWrapper"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
CASES = trtllm_prefill_fp8.cases(batch_prefill_fp8.SHAPES, backend="fa2")

inputs = functools.partial(batch_prefill_fp8.inputs, q="bf16")
cost = functools.partial(batch_prefill_fp8.cost, q="bf16")
part, reference, reached = batch_prefill_fp8.part, batch_prefill_fp8.reference, batch_prefill_fp8.reached
prepare = batch_prefill_fp8.prepare
