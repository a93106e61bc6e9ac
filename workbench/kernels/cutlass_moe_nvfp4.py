"""A whole expert layer in one call on SM100 and later: weights, x and the middle in nvfp4 of `_nvfp4_experts`.

Experts, gates and the answer are those of cutlass_moe. x comes quantized, its scales `swizzled` or, as after
an all-gather, `linear` (the case key `scales`); the middle is quantized within the call.

TOLERANCE: the middle is rounded to bfloat16 before it is quantized, so that a few codes and scales go to the
other neighbour: 2.6e-2 a row, and 9e-2 for the worst of thousands, in which few values weigh most. Missed: a
middle that was not quantized at all (9e-2), a lost group of 16 weights (1e-2), an expert's global scale that
is off by a tenth (7e-2). On the border: one off by a quarter (1e-1 to 1.5e-1); a lost group of 16 of x at
hidden 7168 (1e-1 to 1.4e-1), which is seen at 2048 (1.5e-1 and more). Seen: scales in another order, swapped
halves of a byte, another expert's global scale or weights, a middle that was not scaled back.
Source: flashinfer/fused_moe/core.py and flashinfer_cutlass_fused_moe_binding.cu.
"""

import inspect
from typing import Any

from . import _block_scales, _cutlass, _draw, _experts, _layouts, _nvfp4, _nvfp4_experts, _routing, _shapes

API = "flashinfer.fused_moe.cutlass_fused_moe"
DEVICES = ("cuda",)
SMS = (100, 103, 107, 110, 120, 121)
TOLERANCE = 1.2e-1
VARIES = ("x", "x_scales", "gates")
SIZE = "tokens"
_DEEPSEEK = dict(
    experts=256, hidden=_shapes.DEEPSEEK_HIDDEN, intermediate=2048, top_k=8, ep_size=8, ep_rank=7
)
CASES = [
    *(
        dict(tokens=tokens, **_DEEPSEEK, routing=routing)
        for tokens, routing in ((1, "uniform"), (128, "uniform"), (4096, "uniform"), (4096, "skewed"))
    ),
    *(dict(tokens=tokens, **_shapes.NARROW, routing="uniform") for tokens in (16, 1024)),
    dict(tokens=128, **_DEEPSEEK, routing="uniform", scales="linear"),
]


def inputs(
    *, seed=0, tokens, experts, hidden, intermediate, top_k, routing, scales="swizzled", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x, x_scales, x_global = _nvfp4_experts.rows(_draw.normal(source, tokens, hidden))
    return dict(
        x=x,
        x_scales=_layouts.swizzled(x_scales) if scales == "swizzled" else x_scales,
        x_global=x_global,
        middle_global=_nvfp4_experts.middle_global(x.device),
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=_experts.gates(source, tokens, top_k),
        **_nvfp4_experts.weights(source, here, hidden, intermediate),
        scales=scales,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    if "converted" not in inputs:  # once for all parts of these inputs
        named = ("first_scales", "second_scales")
        inputs["converted"] = [_layouts.swizzled(inputs[name]).view(torch.int32) for name in named]
    first, second = inputs["converted"]
    back, back_again = _nvfp4_experts.alphas(inputs)
    asked = dict(
        fc1_expert_weights=inputs["first"].view(torch.int64),
        fc2_expert_weights=inputs["second"].view(torch.int64),
        quant_scales=[inputs["x_global"], first, back, inputs["middle_global"], second, back_again],
        input_sf=inputs["x_scales"],
    )
    if inputs["scales"] == "linear":
        if "swizzled_input_sf" not in inspect.signature(function).parameters:
            raise NotImplementedError("this version's cutlass_fused_moe takes no linear scales of x")
        asked.update(swizzled_input_sf=False)
    return _cutlass.call(function, inputs, inputs["second"].shape[1], **asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    rows = tokens if inputs["scales"] == "linear" else _shapes.up_to(tokens, 128)
    return {**_experts.part(inputs, tokens, ("x", "chosen", "gates")), "x_scales": inputs["x_scales"][:rows]}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    x = inputs["x"]
    scales = _block_scales.ordered(
        inputs["x_scales"], len(x), 2 * x.shape[1] // _nvfp4.GROUP, inputs["scales"]
    )
    rows = _nvfp4_experts.values(x, scales, inputs["x_global"])
    return _cutlass.answer(inputs, rows, _nvfp4_experts.layer(inputs))


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, tokens, experts, hidden, intermediate, top_k, routing, scales="swizzled", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_nvfp4_experts.stored_bytes(3 * hidden * intermediate),
        row_bytes=_nvfp4_experts.stored_bytes(hidden),
        unit="fp4",
    )
