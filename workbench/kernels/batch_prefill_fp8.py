"""FlashInfer's prefill wrapper with query, keys and values in e4m3: fa3, for SM90 alone.

trtllm_prefill_fp8.py tells the tensors; batch_prefill_fp8_cache.py is the same wrapper with a bfloat16 query. It
plans once, on the host, in `prepare`; what is timed is its run. Scales that are numbers go by name: those of query
and keys into the softmax's, and the answer is multiplied by that of the values once more. Scales of heads go by
place, and into the kernel.

The case with a window is there because the sources of releases before 0.6.15 never take some of the keys that they
load then, and wait for ever.

TOLERANCE and what it misses: as in trtllm_prefill_fp8.py. Hopper adds products of e4m3 with fewer bits than float32
has; that was not simulated.
Source: flashinfer/prefill.py, include/flashinfer/attention/hopper/quantization.
"""

from typing import Any

from . import _paged, _prefill, batch_prefill, trtllm_prefill_fp8

API = "flashinfer.BatchPrefillWithPagedKVCacheWrapper"
DEVICES = ("cuda",)
SMS = (90,)
TOLERANCE = 8e-2
VARIES = ("query",)
SIZE = "batch"
SHAPES = (*_prefill.SHAPES[:3], dict(_prefill.SHAPES[1], window=127))  # those without sinks, and a window
CASES = [
    *trtllm_prefill_fp8.cases(SHAPES, backend="fa3"),
    *trtllm_prefill_fp8.cases(SHAPES[:1], backend="fa3", scales="heads"),
]

part, reference = trtllm_prefill_fp8.part, trtllm_prefill_fp8.reference
reached = trtllm_prefill_fp8.reached


def inputs(*, backend: str, **case: Any) -> dict[str, Any]:
    return dict(trtllm_prefill_fp8.inputs(**case), backend=backend)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    query, kv = inputs["query"], inputs["kv"]
    if inputs["sinks"] is not None:
        # Its module has a name that does not tell the cache's type: an fp8 cache would get that of a bfloat16 one.
        raise NotImplementedError("the wrapper with sinks does not tell one type of cache from another")
    made = dict(float_workspace_buffer=_paged.workspace(query), kv_layout="HND", backend=inputs["backend"])
    wrapper, out = function(**made), trtllm_prefill_fp8.empty_answer(inputs)
    batch_prefill.plan(wrapper, inputs, o_data_type=out.dtype)
    by_place, by_name = _scales(inputs)
    return _paged.into(out, wrapper.run, query, kv, *by_place, **by_name)


def _scales(inputs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """By place, and by name."""
    every = {name: inputs[name] for name in ("q_scale", "k_scale", "v_scale") if inputs[name] is not None}
    if isinstance(inputs["k_scale"], float):
        return [], every
    if len(every) < 3:
        raise NotImplementedError("scales of heads are for an fp8 query")
    return list(every.values()), {}


def cost(*, backend: str, **case: Any) -> dict[str, Any]:
    """That of `trtllm_prefill_fp8`."""
    return trtllm_prefill_fp8.cost(**case)
