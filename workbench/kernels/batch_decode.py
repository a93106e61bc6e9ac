"""FlashInfer's decode wrapper, fa2 on tensor cores, on the cases of trtllm_attention.py and its fp8 neighbour.

The wrapper plans once, on the host, in `prepare`; what is timed is its run. `kv`: `bf16`, or `fp8`, e4m3 codes with
one scale, which it turns into bfloat16. It has no sinks, and one new token a request.

TOLERANCE and what it misses: as in trtllm_attention.py; an fp8 cache adds no rounding here.
Source: flashinfer/decode.py.
"""

import functools
from typing import Any

from . import _decode, _paged

API = "flashinfer.BatchDecodeWithPagedKVCacheWrapper"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
_GROUPED = dict(heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False, page=32)
_RAGGED = dict(_GROUPED, lengths="ragged")
CASES = [
    *(dict(batch=batch, length=length, **_GROUPED) for length in (1024, 8192) for batch in (1, 16, 64)),
    *(dict(batch=16, length=8192, **dict(_GROUPED, page=page)) for page in (16, 64, 128)),
    dict(batch=16, length=8192, **_RAGGED),
    dict(batch=16, length=8192, **_RAGGED, window=127),
    *(dict(batch=16, length=length, **_GROUPED, kv="fp8") for length in (1024, 8192)),
]

inputs = functools.partial(_decode.inputs, backend="fa2")
cost = functools.partial(_decode.cost, backend="fa2")
part, reference, reached = _decode.part, _decode.reference, _decode.reached


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    if inputs["sinks"] is not None or inputs["q_len"] > 1:
        raise NotImplementedError("the decode wrapper has no sinks, and one new token a request")
    query, key = inputs["query"], inputs["key"]
    options = dict(kv_layout="HND", use_tensor_cores=True, backend="fa2")
    wrapper = function(float_workspace_buffer=_paged.workspace(query), **options)
    wrapper.plan(
        **_paged.page_numbers(inputs["block_tables"], inputs["seq_lens"], key.shape[2]),
        num_qo_heads=query.shape[1],
        num_kv_heads=key.shape[1],
        head_dim=query.shape[2],
        page_size=key.shape[2],
        sm_scale=inputs["scale"],
        window_left=inputs["window"],
        q_data_type=query.dtype,
        kv_data_type=key.dtype,
    )
    scale = inputs["kv_scale"]
    scales = dict(k_scale=scale, v_scale=scale) if scale != 1 else {}
    asked = dict(q=query, paged_kv_cache=(key, inputs["value"]), **scales)
    return _paged.into(torch.empty_like(query), wrapper.run, **asked)
