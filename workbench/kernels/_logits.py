"""Router logits that lead to experts known beforehand, and by our own code what each kind of routing makes of them.

The experts come from `_routing`, so that `cost` can count them: they get logits well above all others. Kinds:
`default` softmax, then the top k; `renormalize` the top k, then softmax; `renormalize_naive` softmax, top k, divided
by their sum; `llama4` the top one, then sigmoid; `deepseek_v3` sigmoid plus a bias, `GROUPS` groups of experts of
which the `BEST_GROUPS` with the largest sum of two stay, the top k of these, without the bias, divided by their sum,
times `SCALING`.
"""

import importlib
from typing import Any

from . import _draw, _routing

NAMES = {
    "default": "Default",
    "renormalize": "Renormalize",
    "deepseek_v3": "DeepSeekV3",
    "llama4": "Llama4",
    "renormalize_naive": "RenormalizeNaive",
}
GROUPS, BEST_GROUPS, SCALING = 8, 4, 2.5


def choose(tokens: int, experts: int, top_k: int, routing: str, kind: str) -> tuple[tuple[int, ...], ...]:
    """As `_routing.choose`; for `deepseek_v3` a token's experts are from half of the groups, in turn."""
    if kind != "deepseek_v3":
        return _routing.choose(tokens, experts, top_k, routing)
    group = experts // GROUPS
    half = _routing.choose(tokens, experts * BEST_GROUPS // GROUPS, top_k, routing)
    return tuple(tuple((e + token * group) % experts for e in each) for token, each in enumerate(half))


def drawn(source: Any, chosen: Any, experts: int, kind: str) -> Any:
    """Logits [tokens, experts] that lead to `chosen`, float32 for `deepseek_v3` and else bfloat16."""
    import torch

    logits = _draw.normal(source, len(chosen), experts, std=0.25) - 5
    index = torch.tensor(chosen, device=logits.device)
    # Of -1 to 0: there a sigmoid is far from a softmax, so that one kind in another's place is seen.
    high = torch.rand(index.shape, generator=source, device=logits.device) - 1
    logits = logits.scatter(1, index, high)
    return logits if kind == "deepseek_v3" else logits.bfloat16()


def bias(source: Any, experts: int) -> Any:
    """Bfloat16 [experts], small beside what sets the chosen ones apart."""
    return _draw.normal(source, experts, std=0.02, dtype="bfloat16")


def routed(logits: Any, bias: Any, kind: str, top_k: int) -> tuple[Any, Any]:
    """Experts and float32 gates, both [tokens, top_k]."""
    logits = logits.float()
    if kind == "deepseek_v3":
        return _deepseek(logits.sigmoid(), bias.float(), top_k)
    if kind in ("renormalize", "llama4"):
        best, chosen = logits.topk(top_k, dim=-1)
        return chosen, best.sigmoid() if kind == "llama4" else best.softmax(dim=-1)
    gates, chosen = logits.softmax(dim=-1).topk(top_k, dim=-1)
    return chosen, gates if kind == "default" else gates / gates.sum(dim=-1, keepdim=True)


def _deepseek(scores: Any, bias: Any, top_k: int) -> tuple[Any, Any]:
    import torch

    grouped = (scores + bias).unflatten(1, (GROUPS, -1))
    best = grouped.topk(2, dim=-1).values.sum(dim=-1).topk(BEST_GROUPS, dim=-1).indices
    out = torch.ones(grouped.shape[:2], dtype=torch.bool, device=scores.device).scatter(1, best, False)
    chosen = grouped.masked_fill(out.unsqueeze(-1), -torch.inf).flatten(1).topk(top_k, dim=-1).indices
    gates = scores.gather(1, chosen)
    return chosen, SCALING * gates / gates.sum(dim=-1, keepdim=True)


def asked(kind: str, bias: Any) -> dict[str, Any]:
    """The arguments of the library that say so."""
    known = importlib.import_module("flashinfer.fused_moe").RoutingMethodType
    grouped = kind == "deepseek_v3"
    return dict(
        routing_bias=bias if grouped else None,
        n_group=GROUPS if grouped else None,
        topk_group=BEST_GROUPS if grouped else None,
        routed_scaling_factor=SCALING if grouped else None,
        routing_method_type=int(getattr(known, NAMES[kind])),
    )
