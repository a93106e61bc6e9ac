"""Which experts each token goes to: drawn from the case alone, so that `cost` can count them on any machine.

`uniform`: each expert equally likely. `skewed`: likelihood falls as 1/rank, so that the busiest expert
serves most tokens and the last ones few or none; the ranks are spread over the expert numbers.
"""

from bisect import bisect
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import Any

SPREAD = 5  # odd, so that it is a permutation of any power of two


@lru_cache(maxsize=32)
def choose(tokens: int, experts: int, top_k: int, routing: str) -> tuple[tuple[int, ...], ...]:
    """For each token its `top_k` different experts; by Random.random(), which is equal in every Python."""
    bounds = list(accumulate(_weights(experts, routing)))
    random = Random(experts * 1000 + top_k)
    return tuple(_token(random, bounds, top_k) for _ in range(tokens))


def _token(random: Random, bounds: list[float], top_k: int) -> tuple[int, ...]:
    chosen: list[int] = []
    while len(chosen) < top_k:
        expert = min(bisect(bounds, random.random() * bounds[-1]), len(bounds) - 1)
        if expert not in chosen:
            chosen.append(expert)
    return tuple(chosen)


def _weights(experts: int, routing: str) -> list[float]:
    if routing == "uniform":
        return [1.0] * experts
    if routing == "skewed":
        return [1.0 / (1 + SPREAD * expert % experts) for expert in range(experts)]
    raise ValueError(f"routing {routing!r}: it is 'uniform' or 'skewed'")


def touched(tokens: int, experts: int, top_k: int, routing: str) -> int:
    """How many experts get at least one token: only their weights must be read."""
    return len({expert for chosen in choose(tokens, experts, top_k, routing) for expert in chosen})


def reaches_last(chosen: Any, experts: int) -> bool:
    """Whether the last expert has a token: only then is the end of the weights read."""
    return bool((chosen == experts - 1).any())


def tensor(device: Any, *case: Any) -> Any:
    """`choose` as an int32 tensor [tokens, top_k]."""
    import torch

    return torch.tensor(choose(*case), dtype=torch.int32, device=device)


def sorted_rows(chosen: Any, experts: int) -> tuple[Any, Any]:
    """Pairs of token and choice, sorted by expert: positions `token * top_k + choice`, and rows an expert."""
    import torch

    flat = chosen.flatten().long()
    return torch.argsort(flat, stable=True), torch.bincount(flat, minlength=experts)
