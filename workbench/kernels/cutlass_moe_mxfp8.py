"""A whole gpt-oss expert layer in one call on SM100 and later: mxfp8 rows times mxfp4 weights.

Experts, gates and the answer are those of cutlass_moe, `ep_size` and `ep_rank` too; weights, biases and swiglu
are those of `_mx_experts`, with zeros up to a multiple of 128. x comes as e4m3 with a power of two for each 32
columns, these scales `swizzled`; the middle is rounded to the same within the call.

TOLERANCE: the middle is rounded to bfloat16 before it is rounded to e4m3: 1.7e-2 a row, 3e-2 for the worst of
thousands. Missed: a middle that was not rounded to e4m3 (3e-2), a lost group of 32 weights (under 1e-3). Seen:
a lost group of 32 of x (1.4e-1 and more), scales in another order, a bias, alpha, beta or limit left out.
Source: flashinfer/fused_moe/core.py and flashinfer_cutlass_fused_moe_binding.cu.
"""

from typing import Any

from . import _block_scales, _cutlass, _draw, _experts, _fp4, _layouts, _mx, _mx_experts, _routing, _shapes

API = "flashinfer.fused_moe.cutlass_fused_moe"
DEVICES = ("cuda",)
SMS = (100, 103, 107, 110, 120, 121)
TOLERANCE = 5e-2
VARIES = ("x", "x_scales", "gates")
SIZE = "tokens"
MULTIPLE = 128


def _case(tokens: int, model: str, routing: str, **more: Any) -> dict[str, Any]:
    shape = dict(hidden=_shapes.GPT_OSS_HIDDEN, intermediate=_shapes.GPT_OSS_INTERMEDIATE)
    experts, top_k = _shapes.GPT_OSS_EXPERTS[model], _shapes.GPT_OSS_TOP_K
    return dict(tokens=tokens, experts=experts, **shape, top_k=top_k, routing=routing, **more)


CASES = [
    *(_case(tokens, "20b", "uniform") for tokens in (1, 16, 128, 1024, 4096)),
    *(_case(tokens, "20b", "skewed") for tokens in (128, 4096)),
    _case(128, "120b", "uniform"),
    _case(128, "120b", "uniform", ep_size=4, ep_rank=3),
]


def inputs(
    *, seed=0, tokens, experts, hidden, intermediate, top_k, routing, ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x, x_scales = _mx_experts.fp8_rows(_layouts.padded(_draw.normal(source, tokens, hidden), MULTIPLE))
    return dict(
        x=x,
        x_scales=_layouts.swizzled(x_scales),
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=_experts.gates(source, tokens, top_k),
        **_mx_experts.weights(source, here, hidden, intermediate, MULTIPLE),
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    if "converted" not in inputs:  # once for all parts of these inputs
        named = ("first_scales", "second_scales")
        inputs["converted"] = [_layouts.swizzled(inputs[name]).view(torch.int32) for name in named]
    first, second = inputs["converted"]
    ones, limits = torch.ones(len(first), device=first.device), _experts.limits(len(first), first.device)
    asked = dict(
        fc1_expert_weights=inputs["first"].view(torch.int64),
        fc2_expert_weights=inputs["second"].view(torch.int64),
        quant_scales=[first, ones, second, ones],
        fc1_expert_biases=inputs["first_bias"],
        fc2_expert_biases=inputs["second_bias"],
        input_sf=inputs["x_scales"].view(-1),
        use_mxfp8_act_scaling=True,
        **{f"swiglu_{name}": value for name, value in limits.items()},
    )
    return _cutlass.call(function, inputs, inputs["second"].shape[1], **asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    scales = inputs["x_scales"][: _shapes.up_to(tokens, 128)]
    return {**_experts.part(inputs, tokens, ("x", "chosen", "gates")), "x_scales": scales}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    x = inputs["x"]
    scales = _block_scales.ordered(inputs["x_scales"], len(x), x.shape[1] // _fp4.GROUP, "swizzled")
    layer = _mx_experts.layer(inputs, _mx.rounded_to_fp8)
    return _cutlass.answer(inputs, _mx_experts.of_fp8_rows(x, scales), layer)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(*, tokens, experts, hidden, intermediate, top_k, routing, ep_size=1, ep_rank=0) -> dict[str, Any]:
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_mx_experts.weight_bytes(hidden, intermediate),
        row_bytes=hidden + hidden // _fp4.GROUP,
        unit="fp8",
    )
