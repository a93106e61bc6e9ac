"""A paged cache of keys and values, and attention over it by our own code.

Keys and values are [..., kv_heads, page, head_dim] a page (HND), found through block_tables int32 [batch, pages
of the longest]. The pages are shuffled by the seed, so that one taken from its neighbour's place is seen.
"""

from typing import Any

from . import _shapes

WORKSPACE_BYTES = 256 << 20


def request_lengths(batch: int, length: int, lengths: str) -> list[int]:
    """Tokens of each request; `ragged` goes from `length` down to about half of it."""
    if lengths == "equal":
        return [length] * batch
    if lengths == "ragged":
        return [length - request * (length // 2 - 1) // max(batch - 1, 1) for request in range(batch)]
    raise ValueError(f"lengths {lengths!r}: it is 'equal' or 'ragged'")


def tables(source: Any, batch: int, length: int, page: int) -> Any:
    """block_tables of a cache with as many pages as `batch` requests of `length` tokens need."""
    import torch

    width = _shapes.up_to(length, page) // page
    order = torch.randperm(batch * width, generator=source, device=source.device)
    return order.int().reshape(batch, width)


def sequence(pages: Any, table: Any, length: int) -> Any:
    """One request's keys or values in order, float32 [kv_heads, length, head_dim]."""
    used = pages[table[: -(-length // pages.shape[2])].long()].float()
    return used.transpose(0, 1).flatten(1, 2)[:, :length]


def attend(query: Any, key: Any, value: Any, scale: float, sinks: Any = None, window: int = -1) -> Any:
    """The last tokens of one request, float32 [tokens, heads, head_dim]: each sees itself and those before it.

    With a `window` of 0 or more, at most so many before it. Heads share keys and values in order, heads / kv_heads
    to each. `sinks` [heads] are logits that take part in the softmax and carry no value.
    """
    import torch

    seen = visible(len(query), key.shape[1], window, query.device).unsqueeze(1)
    grouped = query.unflatten(1, (len(key), -1))
    answers = []
    for head in range(len(key)):  # one at a time: all logits of a long prompt would fill a card
        logits = (grouped[:, head] @ key[head].T * scale).masked_fill(~seen, -torch.inf)
        if sinks is not None:
            sink = sinks.reshape(len(key), 1, -1, 1)[head].expand(len(query), -1, 1)
            logits = torch.cat((logits, sink), dim=-1)
        answers.append(logits.softmax(dim=-1)[..., : key.shape[1]] @ value[head])
    return torch.stack(answers, dim=1).flatten(1, 2)


def visible(tokens: int, length: int, window: int, device: Any) -> Any:
    """Bool [tokens, length]: which of all tokens each of the last ones sees."""
    import torch

    here = torch.arange(length - tokens, length, device=device).unsqueeze(1)
    there = torch.arange(length, device=device)
    return (there <= here) & ((there >= here - window) if window >= 0 else True)


def pairs(tokens: int, length: int, window: int) -> int:
    """How many products of a query and a key that is, for each head."""
    reach = length if window < 0 else window + 1
    full = min(max(length - max(reach, length - tokens), 0), tokens)  # those that see `reach` and no more
    growing = tokens - full
    first = length - tokens + 1
    return full * reach + growing * first + growing * (growing - 1) // 2


def read(tokens: int, length: int, window: int) -> int:
    """How many keys some token sees."""
    return length if window < 0 else min(length, tokens + window)


def last_page_is_read(pages: int, page: int, block_tables: Any, seq_lens: Any) -> bool:
    """Whether some request reads the last page to its last token: the end of keys and values."""
    found = (block_tables == pages - 1).nonzero()
    return any(int(seq_lens[request]) >= (place + 1) * page for request, place in found.tolist())


def page_numbers(block_tables: Any, seq_lens: Any, page: int) -> dict[str, Any]:
    """The same tables as FlashInfer's wrappers take them: indptr, indices and last_page_len, int32."""
    import torch

    counts = (seq_lens + page - 1) // page
    used = [table[:count] for table, count in zip(block_tables, counts.tolist())]  # noqa: B905
    last = (seq_lens - 1) % page + 1
    return dict(indptr=starts(counts), indices=torch.cat(used), last_page_len=last.int())


def starts(counts: Any) -> Any:
    """int32 [n + 1]: where each of so many begins, and where the last one ends."""
    import torch

    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int()


def workspace(query: Any) -> Any:
    """Zeros beside the query, as every one of these functions wants to start with."""
    import torch

    return torch.zeros(WORKSPACE_BYTES, dtype=torch.uint8, device=query.device)


def into(out: Any, function: Any, *given: Any, **asked: Any) -> Any:
    """A call that writes its answer into `out`, and says so."""

    def call() -> Any:
        function(*given, out=out, **asked)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call
