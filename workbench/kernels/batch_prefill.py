"""FlashInfer's prefill wrapper, fa2 or fa3, on the cases of trtllm_prefill.py; with sinks the one made for them.

The wrapper plans once, on the host, in `prepare`; what is timed is its run. fa3 is for SM90 alone.

TOLERANCE and what it misses: as in trtllm_prefill.py.
Source: flashinfer/prefill.py and attention/_core.py.
"""

import importlib
from typing import Any

from . import _paged, _prefill

API = "flashinfer.BatchPrefillWithPagedKVCacheWrapper"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
CASES = [case for backend in ("fa2", "fa3") for case in _prefill.cases(backend=backend)]

part, reference, reached = _prefill.part, _prefill.reference, _prefill.reached


def inputs(*, backend: str, **case: Any) -> dict[str, Any]:
    return dict(_prefill.inputs(**case), backend=backend)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    query, kv, sinks = inputs["query"], inputs["kv"], inputs["sinks"]
    made = dict(float_workspace_buffer=_paged.workspace(query), kv_layout="HND", backend=inputs["backend"])
    wrapper = function(**made) if sinks is None else _with_sinks(inputs, made)
    plan(wrapper, inputs)
    # What the wrapper with sinks takes besides has no names: it goes by place.
    more = () if sinks is None else (sinks, inputs["scale"])
    return _paged.into(torch.empty_like(query), wrapper.run, query, kv, *more)


def plan(wrapper: Any, inputs: dict[str, Any], **more: Any) -> None:
    query, kv = inputs["query"], inputs["kv"]
    numbers = _paged.page_numbers(inputs["block_tables"], inputs["seq_lens"], kv.shape[3])
    wrapper.plan(
        qo_indptr=inputs["query_starts"],
        **{f"paged_kv_{name}": value for name, value in numbers.items()},
        num_qo_heads=query.shape[1],
        num_kv_heads=kv.shape[2],
        head_dim_qk=query.shape[2],
        page_size=kv.shape[3],
        causal=True,
        sm_scale=inputs["scale"],
        window_left=inputs["window"],
        q_data_type=query.dtype,
        kv_data_type=kv.dtype,
        **more,
    )


def _with_sinks(inputs: dict[str, Any], made: dict[str, Any]) -> Any:
    kind = getattr(importlib.import_module("flashinfer"), "BatchAttentionWithAttentionSinkWrapper", None)
    if kind is None:
        raise NotImplementedError("this version has no BatchAttentionWithAttentionSinkWrapper")
    query = inputs["query"]
    types = dict(q_data_type=query.dtype, kv_data_type=query.dtype, window_left=inputs["window"])
    return kind(**made, **types, head_dim_qk=query.shape[2], head_dim_vo=query.shape[2])


def cost(*, backend: str, **case: Any) -> dict[str, Any]:
    """That of `_prefill`."""
    return _prefill.cost(**case)
