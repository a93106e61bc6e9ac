"""Decode attention over a paged cache: one new token a request against all that came before.

query bfloat16 [batch * q_len, heads, head_dim]; key and value pages bfloat16 [pages, kv_heads, page, head_dim]
(HND), found through block_tables (`_paged`).
`sinks`: a float32 logit a head that takes part in the softmax and carries no value, as in gpt-oss. `window`: how
many tokens before itself a token sees, -1 for all. `q_len`: new tokens a request, as speculative decoding checks
them, each seeing those before it; a mask says so to xqa, which needs one.
`backend`: `auto` is trtllm-gen on SM100 and SM103, else xqa. batch_decode.py has the same cases.

The first 8 MB of the workspace are xqa's semaphores and must start as zeros: each prepare makes its own.
`semaphores`: `left over` sets every bit of them instead. By its source, xqa then takes the first part of a
sequence that is done for the last one, and puts each answer together from what the call before left: wrong as
soon as inputs change. Sequences that are not split (many requests) have no use for them.

TOLERANCE: probabilities and answer are rounded to bfloat16, about 3e-3 a head. One wrong page of 16
tokens among 8192 is 1e-1 for the worst head, the last of 8192 tokens left out 4e-2. Missed: a token
among thousands to which no head gives weight; sinks where thousands of tokens are seen, beside which they weigh
two in a thousand (with a window of 128 they weigh a tenth).
Source: flashinfer/decode.py.
"""

from typing import Any

from . import _decode

API = "flashinfer.decode.trtllm_batch_decode_with_kv_cache"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
_GROUPED = dict(heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False)
_GPT_OSS = dict(_GROUPED, head_dim=64, sinks=True)
_ONE = dict(batch=16, length=8192, page=32, backend="auto")


def _ladder(backend: str, page: int, batches: Any, lengths: Any) -> list[dict[str, Any]]:
    sizes = [dict(batch=batch, length=length) for length in lengths for batch in batches]
    return [dict(**size, **_GROUPED, page=page, backend=backend) for size in sizes]


CASES = [
    *_ladder("auto", 32, (1, 16, 64), (1024, 8192)),
    *_ladder("auto", 16, (16,), (1024, 8192)),
    dict(batch=16, length=8192, **dict(_GROUPED, lengths="ragged"), page=32, backend="auto"),
    dict(batch=16, length=8192, **_GPT_OSS, page=32, backend="auto"),
    *_ladder("xqa", 32, (1, 64), (8192,)),
    *_ladder("trtllm-gen", 32, (1, 16, 64), (1024, 8192)),
    *_ladder("auto", 64, (16,), (8192,)),
    *_ladder("auto", 128, (16,), (8192,)),
    dict(**_ONE, **dict(_GROUPED, lengths="ragged"), window=127),
    dict(**_ONE, **dict(_GPT_OSS, lengths="ragged"), window=127),
    *(dict(**_ONE, **dict(_GROUPED, lengths="ragged"), q_len=q_len) for q_len in (2, 4)),
    dict(**dict(_ONE, batch=1, backend="xqa"), **_GROUPED, semaphores="left over"),
]

# The kernel's own; `kv` is not among its keys, for an fp8 cache has another tolerance.
inputs, prepare, part = _decode.inputs, _decode.prepare, _decode.part
reference, reached, cost = _decode.reference, _decode.reached, _decode.cost


def needs_artifacts(*, sm: str, backend: str, **case: Any) -> bool:
    """As `_decode` has it; trtllm-gen may be asked for by name where it has nothing."""
    if backend == "trtllm-gen" and sm.startswith(("9.", "12.")):
        raise NotImplementedError("trtllm-gen has no attention for SM90 and SM120")
    return _decode.needs_artifacts(sm=sm, backend=backend, **case)
