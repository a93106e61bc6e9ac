"""Router logits that lead to experts known beforehand, and by our own code what each kind of routing makes of them.

The experts come from `_routing`, so that `cost` can count them. `KINDS` tells the kinds. Besides, `deepseek_v3` and
`minimax2` choose by sigmoid plus bias, and their gates are without the bias. `deepseek_v3` has `GROUPS` groups of
experts of which the `BEST_GROUPS` with the largest sum of two stay, and its gates are times `SCALING`. The others
are not scaled: `minimax2` took no factor before 0.6.13, and takes one since.

`topk` takes the logits themselves as gates, as the library's kernels do; its own reference in Python
(`flashinfer.trace`, from 0.6.11 on) gives all of the top k the same weight. As gates `renormalize` and
`renormalize_naive` are the same, and `sigmoid`, `topk_sigmoid` and, of one expert, `llama4`: one in the other's
place is not seen. Only up to 256 experts and a top k of 8 are compiled for `default`, `topk`, `sigmoid`,
`sigmoid_renorm` and `topk_sigmoid`; beyond, 0.6.8 to 0.6.15 warn and route nothing, and later ones refuse.
"""

import importlib
from typing import Any

from . import _routing

KINDS = {  # the library's name, what is done to all logits, and then to the top k of them
    "default": ("Default", "softmax", ""),
    "renormalize": ("Renormalize", "", "softmax"),
    "deepseek_v3": ("DeepSeekV3", "sigmoid", "sum"),
    "llama4": ("Llama4", "", "sigmoid"),
    "renormalize_naive": ("RenormalizeNaive", "softmax", "sum"),
    "topk": ("TopK", "", ""),
    "sigmoid_renorm": ("SigmoidRenorm", "sigmoid", "sum"),
    "minimax2": ("MiniMax2", "sigmoid", "sum"),
    "sigmoid": ("Sigmoid", "sigmoid", ""),
    "topk_sigmoid": ("TopKSigmoid", "", "sigmoid"),
}
# The first release that has a kind, and the name by which one knows: 0.6.7 has a number for Default, and refuses it.
SINCE = {
    "default": ("0.6.8", "MiniMax2"),
    "sigmoid_renorm": ("0.6.8", "SigmoidRenorm"),
    "minimax2": ("0.6.8", "MiniMax2"),
    "sigmoid": ("0.6.11", "Sigmoid"),
    "topk_sigmoid": ("0.6.18", "TopKSigmoid"),
}
BIASED = ("deepseek_v3", "minimax2")
GROUPS, BEST_GROUPS, SCALING = 8, 4, 2.5
BIAS = 0.35  # more than sets experts apart, so that the bias decides


def choose(tokens: int, experts: int, top_k: int, routing: str, kind: str) -> tuple[tuple[int, ...], ...]:
    """As `_routing.choose`; for `deepseek_v3` a token's experts are from half of the groups, in turn."""
    if kind != "deepseek_v3":
        return _routing.choose(tokens, experts, top_k, routing)
    group = experts // GROUPS
    half = _routing.choose(tokens, experts * BEST_GROUPS // GROUPS, top_k, routing)
    return tuple(tuple((e + token * group) % experts for e in each) for token, each in enumerate(half))


def drawn(source: Any, chosen: Any, experts: int, kind: str) -> dict[str, Any]:
    """`logits` [tokens, experts] that lead to `chosen`, float32 with a bias and else bfloat16, and `bias`."""
    import torch

    index, added = torch.tensor(chosen, device=source.device), bias(source.device, experts)
    low, high = (
        torch.rand(shape, generator=source, device=source.device)
        for shape in ((len(chosen), experts), index.shape)
    )
    if kind in BIASED:
        biased = (0.36 + 0.04 * low).scatter(1, index, 0.5 + 0.1 * high)
        return dict(logits=(biased - added.float()).logit(), bias=added)
    # From 0.5 to 2 the logit, its sigmoid and a softmax are far apart; the low ones count in a softmax over all.
    return dict(logits=(low - 2.5).scatter(1, index, 0.5 + 1.5 * high).bfloat16(), bias=added)


def bias(device: Any, experts: int) -> Any:
    """Bfloat16 [experts], for and against in turns; not drawn, for it stays where other logits are put in."""
    import torch

    values = torch.full((experts,), BIAS, dtype=torch.bfloat16, device=device)
    values[1::2] = -BIAS
    return values


def routed(logits: Any, bias: Any, kind: str, top_k: int) -> tuple[Any, Any]:
    """Experts and float32 gates, both [tokens, top_k]."""
    _, first, last = KINDS[kind]
    scores = _applied(first, logits.float())
    keys = scores + bias.float() if kind in BIASED else scores
    if kind == "deepseek_v3":
        keys = _of_the_best_groups(keys)
    chosen = keys.topk(top_k, dim=-1).indices
    gates = _applied(last, scores.gather(1, chosen))
    return chosen, SCALING * gates if kind == "deepseek_v3" else gates


def _applied(what: str, values: Any) -> Any:
    if what == "sum":
        return values / values.sum(dim=-1, keepdim=True)
    if what == "softmax":
        return values.softmax(dim=-1)
    return values.sigmoid() if what == "sigmoid" else values


def _of_the_best_groups(keys: Any) -> Any:
    """The others at minus infinity."""
    import torch

    grouped = keys.unflatten(1, (GROUPS, -1))
    best = grouped.topk(2, dim=-1).values.sum(dim=-1).topk(BEST_GROUPS, dim=-1).indices
    out = torch.ones(grouped.shape[:2], dtype=torch.bool, device=keys.device).scatter(1, best, False)
    return grouped.masked_fill(out.unsqueeze(-1), -torch.inf).flatten(1)


def asked(kind: str, bias: Any) -> dict[str, Any]:
    """The arguments of the library that say so, by the version's own number: one number has meant other kinds."""
    known = importlib.import_module("flashinfer.fused_moe").RoutingMethodType
    name = KINDS[kind][0]
    release, witness = SINCE.get(kind, ("", name))
    if not hasattr(known, witness):
        raise NotImplementedError(f"this version has no routing {name}: it is there from {release} on")
    grouped = kind == "deepseek_v3"
    return dict(
        routing_bias=bias if kind in BIASED else None,
        n_group=GROUPS if grouped else None,
        topk_group=BEST_GROUPS if grouped else None,
        routed_scaling_factor=SCALING if grouped else None,
        routing_method_type=int(getattr(known, name)),
    )
