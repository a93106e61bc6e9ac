"""Prefill attention over a paged cache: many new tokens a request, each of which sees itself and what was before.

query bfloat16 [new tokens, heads, head_dim], the requests one after the other; kv bfloat16 [pages, 2, kv_heads,
page, head_dim] (HND), keys and values side by side, found through block_tables (`_paged`). `tokens` are new,
`prefix` were cached before, as with chunked prefill; `lengths` is of the new ones. `sinks` and `window` as in
trtllm_attention.py.
`backend`: `trtllm-gen` is trtllm_batch_context_with_kv_cache, for SM100 and SM103 alone; on the same case stand
`fa2` and `fa3`, FlashInfer's prefill wrapper (fa3 on SM90 alone), and `fmha_v2`, trtllm_fmha_v2_prefill, for SM90
and SM120, whose module has 130 sources and more.

TOLERANCE: probabilities and answer are rounded to bfloat16, about 3e-3 a head; the first rows, which see few
tokens, are rounded most. Seen: a token too many or too few for the first few hundred rows, a wrong page of 16 for
all that see fewer than 8192, another window, sinks left out. Missed: a token among thousands.
Source: flashinfer/prefill.py.
"""

import inspect
from typing import Any

from . import _attention_peers, _draw, _paged

API = "flashinfer.prefill.trtllm_batch_context_with_kv_cache"
DEVICES = ("cuda",)
TOLERANCE = 2e-2
VARIES = ("query",)
SIZE = "batch"
BACKENDS = ("trtllm-gen", "fa2", "fa3", "fmha_v2")
_SHAPES = (  # of Llama's kind; of gpt-oss, all tokens and 128 of them; later chunks of long prompts
    dict(batch=1, tokens=4096, prefix=0, head_dim=128, sinks=False, lengths="equal", window=-1),
    dict(batch=8, tokens=1024, prefix=0, head_dim=128, sinks=False, lengths="ragged", window=-1),
    dict(batch=4, tokens=1024, prefix=3072, head_dim=128, sinks=False, lengths="ragged", window=-1),
    dict(batch=4, tokens=2048, prefix=0, head_dim=64, sinks=True, lengths="ragged", window=-1),
    dict(batch=4, tokens=2048, prefix=0, head_dim=64, sinks=True, lengths="ragged", window=127),
)
_ALL = [dict(**shape, heads=64, kv_heads=8, backend=backend) for shape in _SHAPES for backend in BACKENDS]
CASES = [
    *(dict(case, page=32) for case in _ALL),
    *(dict(case, page=page) for case in _ALL[len(BACKENDS) : 2 * len(BACKENDS)] for page in (16, 64)),
]


def inputs(
    *, seed=0, batch, tokens, prefix, heads, kv_heads, head_dim, lengths, sinks, window, page, backend
) -> dict[str, Any]:
    import torch

    source = _draw.generator(seed)
    new = _paged.request_lengths(batch, tokens, lengths)
    query = _draw.normal(source, sum(new), heads, head_dim, dtype="bfloat16")
    tables = _paged.tables(source, batch, prefix + tokens, page)
    kv = _draw.normal(source, tables.numel(), 2, kv_heads, page, head_dim, dtype="bfloat16")
    counts = torch.tensor(new, dtype=torch.int32, device=query.device)
    return dict(
        query=query,
        kv=kv,
        block_tables=tables,
        seq_lens=counts + prefix,
        query_starts=_paged.starts(counts),
        max_q_len=tokens,
        max_kv_len=prefix + tokens,
        sinks=_draw.normal(source, heads) + 3 if sinks else None,
        scale=head_dim**-0.5,
        window=window,
        backend=backend,
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    if inputs["backend"] in ("fa2", "fa3"):
        return _attention_peers.prefill(inputs)
    if inputs["backend"] == "fmha_v2":
        return _attention_peers.fmha_v2(inputs)
    return _trtllm_gen(function, inputs)


def _trtllm_gen(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    query = inputs["query"]
    workspace = torch.zeros(_attention_peers.WORKSPACE_BYTES, dtype=torch.uint8, device=query.device)
    asked = dict(query=query, kv_cache=inputs["kv"], workspace_buffer=workspace, out=torch.empty_like(query))
    asked.update(_attention_peers.lengths(inputs))
    known = inspect.signature(function).parameters
    lacking = [name for name in asked if name not in known]
    if lacking:
        raise NotImplementedError(f"this version's prefill takes no {lacking[0]}")

    def call() -> Any:
        function(**asked)
        return asked["out"]

    call.outputs = [asked["out"]]  # type: ignore[attr-defined]
    return call


def part(inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    """The first requests, with the same pages."""
    first = {name: inputs[name][:batch] for name in ("block_tables", "seq_lens")}
    first.update(query=inputs["query"][: int(inputs["query_starts"][batch])])
    return {**inputs, **first, "query_starts": inputs["query_starts"][: batch + 1]}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    answers = []
    asked = inputs["query"].split(inputs["query_starts"].diff().tolist())
    each = zip(asked, inputs["block_tables"], inputs["seq_lens"].tolist())  # noqa: B905
    for query, table, length in each:
        key, value = (_paged.sequence(inputs["kv"][:, which], table, length) for which in (0, 1))
        options = dict(scale=inputs["scale"], sinks=inputs["sinks"], window=inputs["window"])
        answers.append(_paged.attend(query.float(), key, value, **options))
    return {"out": torch.cat(answers)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    pages, _, _, page, _ = inputs["kv"].shape
    return {"last page": _paged.last_page_is_read(pages, page, inputs["block_tables"], inputs["seq_lens"])}


def cost(
    *, batch, tokens, prefix, heads, kv_heads, head_dim, lengths, sinks, window, page, backend
) -> dict[str, Any]:
    """Every key and value that some token sees once, query and answer once, each page number once."""
    new = _paged.request_lengths(batch, tokens, lengths)
    seen = [_paged.read(count, prefix + count, window) for count in new]
    moved = 2 * sum(seen) * kv_heads * head_dim * 2 + 2 * sum(new) * heads * head_dim * 2
    moved += 4 * sum(-(-count // page) for count in seen)
    products = sum(_paged.pairs(count, prefix + count, window) for count in new)
    return dict(bytes=moved, flops=4 * products * heads * head_dim, unit="bf16")


def needs_artifacts(*, sm: str, backend: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched."""
    return backend == "trtllm-gen"
