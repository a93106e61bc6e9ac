"""What the kernels of whole expert layers share: which experts a rank holds, swiglu, the sum by gate, the least cost.

First weights are [experts, 2 * intermediate, hidden], of whose rows the first half is the linear part (up) and
the second the gate; second weights are [experts, hidden, intermediate].
"""

from collections.abc import Callable
from typing import Any

from . import _routing, _shapes


def here(experts: int, ep_size: int = 1, ep_rank: int = 0) -> range:
    """The experts that rank `ep_rank` of `ep_size` holds."""
    if experts % ep_size or not 0 <= ep_rank < ep_size:
        raise ValueError(f"rank {ep_rank} of {ep_size} has no equal share of {experts} experts")
    share = experts // ep_size
    return range(ep_rank * share, (ep_rank + 1) * share)


def stacked(experts: int, draw: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What `draw()` gives for each expert, stacked part by part; more than one is never held in float32."""
    drawn = draw()
    wholes = tuple(part.new_empty((experts, *part.shape)) for part in drawn)
    for expert in range(experts):
        for whole, part in zip(wholes, drawn if expert == 0 else draw()):  # noqa: B905
            whole[expert] = part
    return wholes


def spread(source: Any) -> Any:
    """A factor of 0.5 to 1 for an expert's weights: so their scales differ, and who takes another's is seen."""
    import torch

    return 0.5 + 0.5 * torch.rand((), generator=source, device=source.device)


def gates(source: Any, tokens: int, top_k: int) -> Any:
    """Float32 [tokens, top_k] that sum to one a token; none is slight, so that an expert left out is seen."""
    import torch

    drawn = 0.5 + torch.rand((tokens, top_k), generator=source, device=source.device)
    return drawn / drawn.sum(dim=-1, keepdim=True)


def mixed(x: Any, chosen: Any, gates: Any, here: range, layer: Callable[[int, Any], Any]) -> Any:
    """Sum of gates times `layer(expert, rows)`, float32 [tokens, hidden]; `expert` is counted within `here`."""
    position, rows = _routing.sorted_rows(chosen, here.stop)
    source, gates = position // chosen.shape[1], gates.flatten()[position]
    answer = x.new_zeros(x.shape)
    start = 0
    for expert, count in enumerate(rows.tolist()):
        of_expert = slice(start, start + count)
        start += count
        if count and expert in here:
            part = layer(expert - here.start, x[source[of_expert]])
            # A token goes to an expert at most once, so no row is met twice here.
            answer[source[of_expert]] += gates[of_expert, None] * part
    return answer


def swiglu(products: Any) -> Any:
    """Float32 [n, 2 * intermediate] to [n, intermediate]: silu(gate) * up."""
    import torch

    up, gate = products.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * up


def limited_swiglu(products: Any) -> Any:
    """The same as gpt-oss has it: both cut off, gate * sigmoid(alpha * gate) * (up + 1)."""
    limit = _shapes.GPT_OSS_LIMIT
    up, gate = products.chunk(2, dim=-1)
    gate = gate.clamp(max=limit)
    return gate * (_shapes.GPT_OSS_ALPHA * gate).sigmoid() * (up.clamp(-limit, limit) + 1)


def limits(experts: int, device: Any) -> dict[str, Any]:
    """alpha, beta and limit of gpt-oss, float32 [experts] each."""
    import torch

    named = dict(alpha=_shapes.GPT_OSS_ALPHA, beta=1.0, limit=_shapes.GPT_OSS_LIMIT)
    return {name: torch.full((experts,), value, device=device) for name, value in named.items()}


def part(inputs: dict[str, Any], tokens: int, names: tuple[str, ...]) -> dict[str, Any]:
    """The first tokens, with the same weights."""
    return {**inputs, **{name: inputs[name][:tokens] for name in names}}


def cost(
    chosen: Any, here: range, *, hidden: int, intermediate: int, weight_bytes: int, row_bytes: int, unit: str
) -> dict[str, Any]:
    """Weights of the experts that have tokens, those tokens' x, expert numbers, gates and the answer, each once.

    `weight_bytes` is what an expert has, `row_bytes` what a token's x has; the answer is bfloat16.
    """
    mine = [[expert for expert in each if expert in here] for each in chosen]
    pairs, served = sum(map(len, mine)), sum(map(bool, mine))
    touched = len({expert for each in mine for expert in each})
    moved = touched * weight_bytes + served * row_bytes + 4 * pairs
    moved += sum(4 * len(each) + 2 * hidden for each in chosen)
    return dict(bytes=moved, flops=6 * pairs * hidden * intermediate, unit=unit)
