"""Decode attention over a paged cache: one new token a request against all that came before.

query bfloat16 [batch, heads, head_dim]; key and value pages bfloat16 [pages, kv_heads, page, head_dim]
(HND), found through block_tables int32 [batch, pages of the longest]. The pages are shuffled by the
seed, so that one X
`sinks`: a float32 logit a head that takes part in the softmax and carries no value, as in gpt-oss.
`backend`: `auto` is trtllm-gen on SM100 and SM103, else xqa.

The first 8 MB of the workspace are xqa's semaphores and must start as zeros: each prepare makes its own.

TOLERANCE: probabilities and answer are rounded to bfloat16, about 3e-3 a head. One wrong page of 16
tokens among 8192 is 1e-1 for the worst head, the last of 8192 tokens left out 4e-2. Missed: a token
among thousands to which no head gives weight.
Source: flashinfer/decode.py.
"""

import inspect
from typing import Any

from . import _draw, _shapes

API = "flashinfer.decode.trtllm_batch_decode_with_kv_cache"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
WORKSPACE_BYTES = 256 << 20
_GROUPED = dict(heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False)
_GPT_OSS = dict(_GROUPED, head_dim=64, sinks=True)


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
]


def inputs(
    *, seed=0, batch, length, heads, kv_heads, head_dim, lengths, sinks, page, backend
) -> dict[str, Any]:
    import torch

    source = _draw.generator(seed)
    each = request_lengths(batch, length, lengths)
    width = _shapes.up_to(length, page) // page
    pages = (batch * width, kv_heads, page, head_dim)
    query = _draw.normal(source, batch, heads, head_dim, dtype="bfloat16")
    key, value = (_draw.normal(source, *pages, dtype="bfloat16") for _ in range(2))
    order = torch.randperm(batch * width, generator=source, device=query.device)
    return dict(
        query=query,
        key=key,
        value=value,
        block_tables=order.int().reshape(batch, width),
        seq_lens=torch.tensor(each, dtype=torch.int32, device=query.device),
        sinks=_draw.normal(source, heads) + 3 if sinks else None,
        max_seq_len=max(each),
        scale=head_dim**-0.5,
        backend=backend,
    )


def request_lengths(batch: int, length: int, lengths: str) -> list[int]:
    """Tokens of each request; `ragged` goes from `length` down to about half of it."""
    if lengths == "equal":
        return [length] * batch
    if lengths == "ragged":
        return [length - request * (length // 2 - 1) // max(batch - 1, 1) for request in range(batch)]
    raise ValueError(f"lengths {lengths!r}: it is 'equal' or 'ragged'")


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    query = inputs["query"]
    asked = dict(
        query=query,
        kv_cache=(inputs["key"], inputs["value"]),
        workspace_buffer=torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=query.device),
        block_tables=inputs["block_tables"],
        seq_lens=inputs["seq_lens"],
        max_seq_len=inputs["max_seq_len"],
        bmm1_scale=inputs["scale"],
        bmm2_scale=1.0,
        backend=inputs["backend"],
    )
    if inputs["sinks"] is not None:
        asked["sinks"] = inputs["sinks"]
    if "out" not in inspect.signature(function).parameters:
        return lambda: function(**asked)
    return _into(function, asked, torch.empty_like(query))


def _into(function: Any, asked: dict[str, Any], out: Any) -> Any:
    def call() -> Any:
        function(**asked, out=out)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def part(inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    """The first requests, with the same pages."""
    return {**inputs, **{name: inputs[name][:batch] for name in ("query", "block_tables", "seq_lens")}}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    answers = []
    for request, length in enumerate(inputs["seq_lens"].tolist()):
        table = inputs["block_tables"][request]
        key, value = (sequence(inputs[name], table, length) for name in ("key", "value"))
        query = inputs["query"][request].float()
        answers.append(attend(query, key, value, inputs["scale"], inputs["sinks"]))
    return {"out": torch.stack(answers)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    """Whether some request reads the last page to its last token: the end of keys and values."""
    last, page = len(inputs["key"]) - 1, inputs["key"].shape[2]
    request, place = (int(each) for each in (inputs["block_tables"] == last).nonzero()[0])
    return {"last page": int(inputs["seq_lens"][request]) >= (place + 1) * page}


def sequence(pages: Any, table: Any, length: int) -> Any:
    """One request's keys or values in order, float32 [kv_heads, length, head_dim]."""
    return pages[table.long()].transpose(0, 1).flatten(1, 2)[:, :length].float()


def attend(query: Any, key: Any, value: Any, scale: float, sinks: Any) -> Any:
    """[heads, head_dim] of one request; heads share keys and values in order, heads / kv_heads to each."""
    import torch

    grouped = query.unflatten(0, (len(key), -1))
    logits = grouped @ key.transpose(1, 2) * scale
    if sinks is not None:
        logits = torch.cat((logits, sinks.reshape(len(key), -1, 1)), dim=-1)
    weights = logits.softmax(dim=-1)[..., : key.shape[1]]
    return (weights @ value).flatten(0, 1)


def cost(*, batch, length, heads, kv_heads, head_dim, lengths, page, **other: Any) -> dict[str, Any]:
    """Every key and value of the true lengths once, query and answer once, each page number once."""
    each = request_lengths(batch, length, lengths)
    moved = 2 * sum(each) * kv_heads * head_dim * 2 + 2 * batch * heads * head_dim * 2
    moved += 4 * sum(-(-tokens // page) for tokens in each)
    return dict(bytes=moved, flops=4 * sum(each) * heads * head_dim, unit="bf16")


def needs_artifacts(*, sm: str, backend: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched; on SM100 and SM103 `auto` becomes it."""
    return backend == "trtllm-gen" or (backend == "auto" and sm.startswith("10."))
