"""Decode attention, for the kernels that measure it: `trtllm_attention.py` and, over an fp8 cache, its neighbour."""

import inspect
from typing import Any

from . import _draw, _paged

SEMAPHORE_BYTES = 8 << 20  # of xqa, at the start of the workspace
FP8_SCALE = 11 / 640  # of keys and values as codes; no power of two, so that a lost one is seen


def inputs(
    *,
    seed=0,
    batch,
    length,
    heads,
    kv_heads,
    head_dim,
    lengths,
    sinks,
    page,
    backend,
    window=-1,
    q_len=1,
    semaphores="zeroed",
    kv="bf16",
) -> dict[str, Any]:
    import torch

    source = _draw.generator(seed)
    each = _paged.request_lengths(batch, length, lengths)
    pages = (batch * (-(-length // page)), kv_heads, page, head_dim)
    query = _draw.normal(source, batch * q_len, heads, head_dim, dtype="bfloat16")
    kv_scale, dtype = (FP8_SCALE, "float8_e4m3fn") if kv == "fp8" else (1.0, "bfloat16")
    key, value = (_draw.normal(source, *pages, std=1 / kv_scale, dtype=dtype) for _ in range(2))
    return dict(
        query=query,
        key=key,
        value=value,
        block_tables=_paged.tables(source, batch, length, page),
        seq_lens=torch.tensor(each, dtype=torch.int32, device=query.device),
        sinks=_draw.normal(source, heads) + 3 if sinks else None,
        max_seq_len=max(each),
        scale=head_dim**-0.5,
        kv_scale=kv_scale,
        backend=backend,
        window=window,
        q_len=q_len,
        semaphores=semaphores,
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    asked = dict(
        query=inputs["query"],
        kv_cache=(inputs["key"], inputs["value"]),
        workspace_buffer=_workspace(inputs),
        block_tables=inputs["block_tables"],
        seq_lens=inputs["seq_lens"],
        max_seq_len=inputs["max_seq_len"],
        bmm1_scale=inputs["scale"] * inputs["kv_scale"],
        bmm2_scale=inputs["kv_scale"],
        window_left=inputs["window"],
        backend=inputs["backend"],
    )
    known = inspect.signature(function).parameters
    asked.update(_more(inputs, known))
    if "out" not in known:
        return lambda: function(**asked)
    return _paged.into(torch.empty_like(inputs["query"]), function, **asked)


def _workspace(inputs: dict[str, Any]) -> Any:
    made = _paged.workspace(inputs["query"])
    if inputs["semaphores"] == "left over":
        made[:SEMAPHORE_BYTES] = 0xFF
    return made


def _more(inputs: dict[str, Any], known: Any) -> dict[str, Any]:
    more = {} if inputs["sinks"] is None else dict(sinks=inputs["sinks"])
    if inputs["q_len"] > 1:
        mask = causal_mask(len(inputs["seq_lens"]), inputs["q_len"], inputs["query"].device)
        more.update(q_len_per_req=inputs["q_len"], mask=mask)
    lacking = [name for name in more if name not in known]
    if lacking:
        raise NotImplementedError(f"this version's decode takes no {lacking[0]}")
    return more


def causal_mask(batch: int, q_len: int, device: Any) -> Any:
    """Which new tokens each new token sees, itself and those before: a bit each, in words of 16, padded to 32."""
    import torch

    bits = torch.ones((q_len, -(-q_len // 32) * 32), dtype=torch.int32, device=device).tril()
    words = (bits.unflatten(1, (-1, 16)) << torch.arange(16, device=device)).sum(-1)
    return words.expand(batch, -1, -1).contiguous().to(torch.uint16)


def part(inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    """The first requests, with the same pages."""
    first = {name: inputs[name][:batch] for name in ("block_tables", "seq_lens")}
    return {**inputs, **first, "query": inputs["query"][: batch * inputs["q_len"]]}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    answers = []
    asked = inputs["query"].float().unflatten(0, (-1, inputs["q_len"]))
    scale = inputs["scale"] * inputs["kv_scale"]
    for query, table, length in zip(  # noqa: B905
        asked, inputs["block_tables"], inputs["seq_lens"].tolist()
    ):
        key, value = (_paged.sequence(inputs[name], table, length) for name in ("key", "value"))
        answers.append(_paged.attend(query, key, value, scale, inputs["sinks"], inputs["window"]))
    return {"out": torch.cat(answers) * inputs["kv_scale"]}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    pages, _, page, _ = inputs["key"].shape
    return {"last page": _paged.last_page_is_read(pages, page, inputs["block_tables"], inputs["seq_lens"])}


def cost(
    *,
    batch,
    length,
    heads,
    kv_heads,
    head_dim,
    lengths,
    sinks,
    page,
    backend,
    window=-1,
    q_len=1,
    semaphores="zeroed",
    kv="bf16",
) -> dict[str, Any]:
    """Every key and value that some token sees once, query and answer once, each page number once."""
    each = _paged.request_lengths(batch, length, lengths)
    seen = [_paged.read(q_len, tokens, window) for tokens in each]
    moved = 2 * sum(seen) * kv_heads * head_dim * (1 if kv == "fp8" else 2)
    moved += 2 * batch * q_len * heads * head_dim * 2 + 4 * sum(-(-tokens // page) for tokens in seen)
    products = sum(_paged.pairs(q_len, tokens, window) for tokens in each)
    return dict(bytes=moved, flops=4 * products * heads * head_dim, unit="fp8" if kv == "fp8" else "bf16")


def needs_artifacts(*, sm: str, backend: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched; on SM100 and SM103 `auto` becomes it."""
    return backend == "trtllm-gen" or (backend == "auto" and sm.startswith("10."))
