"""A whole expert layer in one call, weights and products in e4m3: one scale a tensor, or one for each 128 x 128.

Shapes, experts, gates and the answer are those of cutlass_moe. `scheme` is `tensor`: x comes as e4m3 with one
float32 scale, each expert has a scale for each of its two weights, and the middle is multiplied by `MIDDLE`
and rounded to e4m3 within the call. Or `block`, as DeepSeek has it: x bfloat16, weights with a float32 scale
for each 128 x 128; the call rounds x and the middle to e4m3 itself, with a scale for each row and 128
columns. `block` is for SM90 and CUDA 12.8 or later; elsewhere the library refuses it.

TOLERANCE: the middle is rounded to bfloat16 before it is rounded to e4m3, so that one value in thirty goes to
the other neighbour: 1.5e-2 a row, and 4e-2 for the worst of thousands, in which few values weigh most.
Missed: a middle that was not rounded to e4m3 at all (3e-2), a scale that is off by a twentieth, one block of
128 x 128 weights. Seen: a middle that was not scaled back, the scales of other blocks or experts.
Source: flashinfer/fused_moe/core.py and flashinfer_cutlass_fused_moe_binding.cu.
"""

from typing import Any

from . import _cutlass, _draw, _experts, _fp8, _routing, _shapes

API = "flashinfer.fused_moe.cutlass_fused_moe"
DEVICES = ("cuda",)
TOLERANCE = 6e-2
VARIES = ("x", "gates")
SIZE = "tokens"
LARGEST = 6.0  # x is cut off there, so that its scale is the same for every seed
MIDDLE = 12.0  # the middle, of about 1, seldom beyond 30, on the scale of e4m3
_DEEPSEEK = dict(
    experts=256, hidden=_shapes.DEEPSEEK_HIDDEN, intermediate=2048, top_k=8, ep_size=8, ep_rank=7
)
_SHARE = dict(_shapes.NARROW, experts=128, ep_size=4, ep_rank=3)
CASES = [
    *(
        dict(scheme=scheme, tokens=tokens, **_shapes.NARROW, routing=routing)
        for scheme in ("tensor", "block")
        for tokens, routing in ((1, "uniform"), (16, "uniform"), (1024, "uniform"), (1024, "skewed"))
    ),
    *(
        dict(scheme="block", tokens=tokens, **_DEEPSEEK, routing=routing)
        for tokens, routing in ((128, "uniform"), (4096, "uniform"), (4096, "skewed"))
    ),
    dict(scheme="tensor", tokens=128, **_SHARE, routing="uniform"),
]


def inputs(
    *, seed=0, scheme, tokens, experts, hidden, intermediate, top_k, routing, ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    import torch

    source, here = _draw.generator(seed), _experts.here(experts, ep_size, ep_rank)
    x = _draw.normal(source, tokens, hidden).clamp(-LARGEST, LARGEST)
    gates = _experts.gates(source, tokens, top_k)
    quantize = {"tensor": _fp8.one_scale, "block": _fp8.blocks}[scheme]

    def draw() -> tuple[Any, ...]:
        first = _draw.normal(source, 2 * intermediate, hidden, std=2 * hidden**-0.5)
        second = _draw.normal(source, hidden, intermediate, std=intermediate**-0.5)
        return (*quantize(first * _experts.spread(source)), *quantize(second * _experts.spread(source)))

    x_scale = torch.full((), LARGEST / _fp8.LARGEST, device=x.device)
    first, first_scales, second, second_scales = _experts.stacked(len(here), draw)
    return dict(
        scheme=scheme,
        x=_fp8.rounded(x / x_scale) if scheme == "tensor" else x.bfloat16(),
        x_scale=x_scale,
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=gates,
        first=first,
        first_scales=first_scales,
        second=second,
        second_scales=second_scales,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    asked = dict(
        fc1_expert_weights=inputs["first"],
        fc2_expert_weights=inputs["second"],
        quant_scales=quant_scales(inputs),
        use_deepseek_fp8_block_scale=inputs["scheme"] == "block",
    )
    return _cutlass.call(function, inputs, inputs["second"].shape[1], **asked)


def quant_scales(inputs: dict[str, Any]) -> list[Any]:
    """`block`: the weights' own. `tensor`: back from the first product, to the middle, back from the second, of x."""
    import torch

    first, second, x_scale = inputs["first_scales"], inputs["second_scales"], inputs["x_scale"]
    if inputs["scheme"] == "block":
        return [first, second]
    return [first * x_scale, torch.full((), MIDDLE, device=first.device), second / MIDDLE, x_scale]


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "chosen", "gates"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    def layer(expert: int, rows: Any) -> Any:
        first, second = (weight(inputs, name, expert) for name in ("first", "second"))
        return rounded_middle(_experts.swiglu(rows @ first.T), inputs["scheme"]) @ second.T

    x = inputs["x"].float()
    x = x * inputs["x_scale"] if inputs["scheme"] == "tensor" else _fp8.by_groups(x)
    return _cutlass.answer(inputs, x, layer)


def weight(inputs: dict[str, Any], name: str, expert: int) -> Any:
    """Float32 of one expert's first or second weights."""
    codes, scales = inputs[name][expert], inputs[f"{name}_scales"][expert]
    return _fp8.of_blocks(codes, scales) if inputs["scheme"] == "block" else codes.float() * scales


def rounded_middle(middle: Any, scheme: str) -> Any:
    return _fp8.by_groups(middle) if scheme == "block" else _fp8.rounded(middle * MIDDLE).float() / MIDDLE


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, scheme, tokens, experts, hidden, intermediate, top_k, routing, ep_size=1, ep_rank=0
) -> dict[str, Any]:
    values = 3 * hidden * intermediate
    scales = 4 * values // _fp8.BLOCK**2 if scheme == "block" else 8
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=values + scales,
        row_bytes=2 * hidden if scheme == "block" else hidden,
        unit="fp8",
    )
