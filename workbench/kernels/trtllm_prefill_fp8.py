"""Prefill attention with query, keys and values in e4m3, over a paged cache; the answer is bfloat16.

As trtllm_prefill.py (`_prefill` tells the tensors), with query and kv as codes. Each of query, keys and values has a
scale, no two alike and none a power of two: one that is lost, or put in another's place, is seen. Of the same codes
are batch_prefill_fp8.py (fa3) and fmha_v2_prefill_fp8.py, and batch_prefill_fp8_cache.py with a bfloat16 query
(`q`: `bf16`). `scales`: `tensor`, a number each, or `heads`, float32 [heads] or [kv_heads], falling to half of it.
trtllm_batch_context_with_kv_cache is trtllm-gen, for SM100 and SM103 alone; all scales go into the two it takes.

TOLERANCE: the probabilities alone are rounded to e4m3, 1 becoming 448. Rounded so by our own code, the usual head is
2.6e-2 off and the worst of 131,000 4e-2, with a window of 127 5e-2. Seen: a wrong page of 32 among 4096 tokens, a
token too few at the end of them (1.8e-1 for the worst head), another window, sinks left out of the first rows or with
a window, a scale that is lost or another's, that of the keys by 5 % (1.8e-1). Missed: that of the values by less than
8 %, a token among thousands.
Source: flashinfer/prefill.py.
"""

import inspect
from typing import Any

from . import _decode, _fp8, _paged, _prefill

API = "flashinfer.prefill.trtllm_batch_context_with_kv_cache"
DEVICES = ("cuda",)
SMS = (100, 103, 107)
TOLERANCE = 8e-2
VARIES = ("query",)
SIZE = "batch"
KEY_SCALE, VALUE_SCALE, QUERY_SCALE = _decode.FP8_SCALE, 7 / 320, 13 / 640


def cases(shapes: Any, **more: Any) -> list[dict[str, Any]]:
    return [dict(**shape, heads=64, kv_heads=8, page=32, **more) for shape in shapes]


CASES = cases(_prefill.SHAPES)
part, reached = _prefill.part, _prefill.reached


def inputs(*, q: str = "fp8", scales: str = "tensor", **case: Any) -> dict[str, Any]:
    made = _prefill.inputs(**case)
    query, kv = made["query"], made["kv"]
    key, value = (_scale(number, kv.shape[2], scales, kv) for number in (KEY_SCALE, VALUE_SCALE))
    made.update(q_scale=None, k_scale=key, v_scale=value)
    made["kv"] = _fp8.rounded(kv.float() / _of_pages(made))
    if q == "fp8":
        made["q_scale"] = _scale(QUERY_SCALE, query.shape[1], scales, query)
        made["query"] = _fp8.rounded(query.float() / _by_head(made["q_scale"], query))
    return made


def _scale(number: float, heads: int, scales: str, beside: Any) -> Any:
    import torch

    if scales == "heads":
        return number * torch.linspace(1.0, 0.5, heads, device=beside.device)
    if scales == "tensor":
        return number
    raise ValueError(f"scales {scales!r}: it is 'tensor' or 'heads'")


def _by_head(scale: Any, beside: Any) -> Any:
    """float32 [heads, 1], or [1, 1] of a number."""
    import torch

    return torch.as_tensor(scale, dtype=torch.float32, device=beside.device).reshape(-1, 1)


def _of_pages(inputs: dict[str, Any]) -> Any:
    """float32 [2, kv_heads or 1, 1, 1]: of keys and values, as a page has them."""
    import torch

    each = [_by_head(inputs[name], inputs["kv"]) for name in ("k_scale", "v_scale")]
    return torch.stack(each).unsqueeze(-1)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    called = dict(query=inputs["query"], kv_cache=inputs["kv"], **asked(inputs))
    known = inspect.signature(function).parameters
    lacking = [name for name in called if name not in known]
    if lacking:
        raise NotImplementedError(f"this version's prefill takes no {lacking[0]}")
    return _paged.into(empty_answer(inputs), function, **called)


def asked(inputs: dict[str, Any]) -> dict[str, Any]:
    """What the two trtllm prefill functions call alike."""
    query, key, value = (inputs[name] for name in ("q_scale", "k_scale", "v_scale"))
    if not all(isinstance(scale, float) for scale in (query, key, value)):
        raise NotImplementedError("the trtllm prefill functions take an fp8 query, and one scale a tensor")
    return dict(_prefill.asked(inputs), bmm1_scale=inputs["scale"] * query * key, bmm2_scale=value)


def empty_answer(inputs: dict[str, Any]) -> Any:
    import torch

    return torch.empty_like(inputs["query"], dtype=torch.bfloat16)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    """Of what the codes stand for; nothing is rounded on the way."""
    query = inputs["query"].float()
    if inputs["q_scale"] is not None:
        query = query * _by_head(inputs["q_scale"], query)
    return _prefill.reference({**inputs, "query": query, "kv": inputs["kv"].float() * _of_pages(inputs)})


def cost(*, q: str = "fp8", scales: str = "tensor", **case: Any) -> dict[str, Any]:
    """That of `_prefill`, with one byte less for each code."""
    whole = _prefill.cost(**case)
    new = _paged.request_lengths(case["batch"], case["tokens"], case["lengths"])
    seen = [_paged.read(count, case["prefix"] + count, case["window"]) for count in new]
    codes = 2 * sum(seen) * case["kv_heads"] * case["head_dim"]
    if q == "fp8":
        codes += sum(new) * case["heads"] * case["head_dim"]
    return dict(whole, bytes=whole["bytes"] - codes, unit=q)


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched."""
    return True
