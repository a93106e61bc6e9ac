"""What FlashInfer has beside the trtllm attention functions, on the same inputs: its wrappers and fmha_v2.

A wrapper plans once, on the host, in `prepare`; what is timed is its run.
"""

import importlib
from typing import Any

from . import _paged

WORKSPACE_BYTES = 256 << 20


def decode(inputs: dict[str, Any]) -> Any:
    """BatchDecodeWithPagedKVCacheWrapper, fa2 on tensor cores, as serving projects call it for grouped heads."""
    if inputs["sinks"] is not None or inputs["q_len"] > 1:
        raise NotImplementedError("the fa2 decode wrapper has no sinks, and one query token a request")
    query, key = inputs["query"], inputs["key"]
    wrapper = importlib.import_module("flashinfer").BatchDecodeWithPagedKVCacheWrapper(
        float_workspace_buffer=_workspace(query), kv_layout="HND", use_tensor_cores=True, backend="fa2"
    )
    wrapper.plan(
        **_paged.page_numbers(inputs["block_tables"], inputs["seq_lens"], key.shape[2]),
        head_dim=query.shape[-1],
        **_planned(inputs, key),
    )
    codes = dict(k_scale=inputs["kv_scale"], v_scale=inputs["kv_scale"]) if inputs["kv_scale"] != 1 else {}
    return _run(wrapper, query, (key, inputs["value"]), **codes)


def prefill(inputs: dict[str, Any]) -> Any:
    """BatchPrefillWithPagedKVCacheWrapper, fa2 or fa3; with sinks the wrapper that is made for them."""
    query, sinks, backend = inputs["query"], inputs["sinks"], inputs["backend"]
    library = importlib.import_module("flashinfer")
    made = dict(float_workspace_buffer=_workspace(query), kv_layout="HND", backend=backend)
    if sinks is None:
        wrapper = library.BatchPrefillWithPagedKVCacheWrapper(**made)
    else:
        types = dict(q_data_type=query.dtype, kv_data_type=query.dtype, window_left=inputs["window"])
        sizes = dict(head_dim_qk=query.shape[-1], head_dim_vo=query.shape[-1])
        wrapper = library.BatchAttentionWithAttentionSinkWrapper(**made, **types, **sizes)
    numbers = _paged.page_numbers(inputs["block_tables"], inputs["seq_lens"], inputs["kv"].shape[3])
    wrapper.plan(
        qo_indptr=inputs["query_starts"],
        **{f"paged_kv_{name}": value for name, value in numbers.items()},
        head_dim_qk=query.shape[-1],
        causal=True,
        **_planned(inputs, inputs["kv"][:, 0]),
    )
    # What a wrapper of its own kind takes besides goes by place: it has no names there.
    more = () if sinks is None else (sinks, inputs["scale"])
    return _run(wrapper, query, inputs["kv"], *more)


def fmha_v2(inputs: dict[str, Any]) -> Any:
    """trtllm_fmha_v2_prefill over the paged cache."""
    import torch

    function = getattr(importlib.import_module("flashinfer.prefill"), "trtllm_fmha_v2_prefill", None)
    if function is None:
        raise NotImplementedError("this version has no trtllm_fmha_v2_prefill")
    windowed = inputs["window"] >= 0
    asked = dict(
        qkv=(inputs["query"], inputs["kv"]),
        input_layout="Q_PAGED_KV_HND",
        mask_mode="sliding_window" if windowed else "causal",
        workspace_buffer=_workspace(inputs["query"]),
        out=torch.empty_like(inputs["query"]),
        **lengths(inputs),
    )

    def call() -> Any:
        function(**asked)
        return asked["out"]

    call.outputs = [asked["out"]]  # type: ignore[attr-defined]
    return call


def lengths(inputs: dict[str, Any]) -> dict[str, Any]:
    """What the two trtllm prefill functions call alike."""
    return dict(
        block_tables=inputs["block_tables"],
        seq_lens=inputs["seq_lens"],
        max_q_len=inputs["max_q_len"],
        max_kv_len=inputs["max_kv_len"],
        bmm1_scale=inputs["scale"],
        bmm2_scale=1.0,
        batch_size=len(inputs["seq_lens"]),
        cum_seq_lens_q=inputs["query_starts"],
        cum_seq_lens_kv=_paged.starts(inputs["seq_lens"]),
        window_left=inputs["window"],
        **({} if inputs["sinks"] is None else dict(sinks=inputs["sinks"])),
    )


def _planned(inputs: dict[str, Any], key: Any) -> dict[str, Any]:
    """What both wrappers' plans call alike; key is [pages, kv_heads, page, head_dim]."""
    return dict(
        num_qo_heads=inputs["query"].shape[1],
        num_kv_heads=key.shape[1],
        page_size=key.shape[2],
        sm_scale=inputs["scale"],
        window_left=inputs["window"],
        q_data_type=inputs["query"].dtype,
        kv_data_type=key.dtype,
    )


def _run(wrapper: Any, query: Any, cache: Any, *more: Any, **named: Any) -> Any:
    import torch

    out = torch.empty_like(query)

    def call() -> Any:
        wrapper.run(query, cache, *more, out=out, **named)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def _workspace(query: Any) -> Any:
    import torch

    return torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=query.device)
