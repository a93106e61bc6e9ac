"""Prefill attention over a paged cache, for the kernels that measure it on the same cases.

query bfloat16 [new tokens, heads, head_dim], the requests one after the other; kv bfloat16 [pages, 2, kv_heads,
page, head_dim] (HND), keys and values side by side, found through block_tables (`_paged`). Each token sees itself
and what was before. `tokens` are new, `prefix` were cached before, as with chunked prefill; `lengths` is of the
new ones. `sinks`: a float32 logit a head that carries no value. `window`: how many tokens before itself a token
sees, -1 for all.
"""

from typing import Any

from . import _draw, _paged

SHAPES = (  # of Llama's kind; of gpt-oss, all tokens and 128 of them; later chunks of long prompts
    dict(batch=1, tokens=4096, prefix=0, head_dim=128, sinks=False, lengths="equal", window=-1),
    dict(batch=8, tokens=1024, prefix=0, head_dim=128, sinks=False, lengths="ragged", window=-1),
    dict(batch=4, tokens=1024, prefix=3072, head_dim=128, sinks=False, lengths="ragged", window=-1),
    dict(batch=4, tokens=2048, prefix=0, head_dim=64, sinks=True, lengths="ragged", window=-1),
    dict(batch=4, tokens=2048, prefix=0, head_dim=64, sinks=True, lengths="ragged", window=127),
)


def cases(**more: Any) -> list[dict[str, Any]]:
    """The same cases for each kernel: all with pages of 32, the second with others, too."""
    every = [(shape, 32) for shape in SHAPES] + [(SHAPES[1], page) for page in (16, 64)]
    return [dict(**shape, heads=64, kv_heads=8, page=page, **more) for shape, page in every]


def inputs(
    *, seed=0, batch, tokens, prefix, heads, kv_heads, head_dim, lengths, sinks, window, page
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
    )


def asked(inputs: dict[str, Any]) -> dict[str, Any]:
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
        workspace_buffer=_paged.workspace(inputs["query"]),
        **({} if inputs["sinks"] is None else dict(sinks=inputs["sinks"])),
    )


def part(inputs: dict[str, Any], batch: int) -> dict[str, Any]:
    """The first requests, with the same pages."""
    first = {name: inputs[name][:batch] for name in ("block_tables", "seq_lens")}
    first.update(query=inputs["query"][: int(inputs["query_starts"][batch])])
    return {**inputs, **first, "query_starts": inputs["query_starts"][: batch + 1]}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    answers = []
    queries = inputs["query"].split(inputs["query_starts"].diff().tolist())
    each = zip(queries, inputs["block_tables"], inputs["seq_lens"].tolist())  # noqa: B905
    for query, table, length in each:
        key, value = (_paged.sequence(inputs["kv"][:, which], table, length) for which in (0, 1))
        options = dict(scale=inputs["scale"], sinks=inputs["sinks"], window=inputs["window"])
        answers.append(_paged.attend(query.float(), key, value, **options))
    return {"out": torch.cat(answers)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    pages, _, _, page, _ = inputs["kv"].shape
    return {"last page": _paged.last_page_is_read(pages, page, inputs["block_tables"], inputs["seq_lens"])}


def cost(*, batch, tokens, prefix, heads, kv_heads, head_dim, lengths, sinks, window, page) -> dict[str, Any]:
    """Every key and value that some token sees once, query and answer once, each page number once."""
    new = _paged.request_lengths(batch, tokens, lengths)
    seen = [_paged.read(count, prefix + count, window) for count in new]
    moved = 2 * sum(seen) * kv_heads * head_dim * 2 + 2 * sum(new) * heads * head_dim * 2
    moved += 4 * sum(-(-count // page) for count in seen)
    products = sum(_paged.pairs(count, prefix + count, window) for count in new)
    return dict(bytes=moved, flops=4 * products * heads * head_dim, unit="bf16")
