"""A whole gpt-oss expert layer in one call on SM90: mxfp4 weights, bfloat16 x, biases, and swiglu with a limit.

Shapes, experts, gates and the answer are those of cutlass_moe; weights, biases and swiglu are those of
`_mx_experts`. `hidden` and `intermediate` are the model's; weights, x and the answer are padded with zeros to
a multiple of 128, as the library asks and callers do (2880 to 2944). `preparation`: `own` takes the helpers
of the version measured, `callers` what callers did before there were any, so that a layout which changed in
silence is seen as a wrong answer.

TOLERANCE: the middle is rounded to bfloat16 and so may be each partial sum, about 5e-3 a row. Missed: one
element of a row that is off by less than its usual size. Seen: the scales or weights of another layout, a
bias, alpha, beta or limit left out.
Source: flashinfer/fused_moe/core.py and moe_gemm_tma_ws_mixed_input_launcher.inl.
"""

from typing import Any

from . import _cutlass, _draw, _experts, _layouts, _mx_experts, _routing, _shapes, _sm90_mixed

API = "flashinfer.fused_moe.cutlass_fused_moe"
DEVICES = ("cuda",)
SMS = (90,)
TOLERANCE = 2e-2
VARIES = ("x", "gates")
SIZE = "tokens"
MULTIPLE = 128


def _case(tokens: int, model: str, routing: str, **more: Any) -> dict[str, Any]:
    shape = dict(hidden=_shapes.GPT_OSS_HIDDEN, intermediate=_shapes.GPT_OSS_INTERMEDIATE)
    experts, top_k = _shapes.GPT_OSS_EXPERTS[model], _shapes.GPT_OSS_TOP_K
    return dict(tokens=tokens, experts=experts, **shape, top_k=top_k, routing=routing, **more)


CASES = [
    *(_case(tokens, "20b", "uniform") for tokens in (1, 16, 128, 1024, 4096)),
    *(_case(tokens, "20b", "skewed") for tokens in (128, 1024)),
    *(_case(tokens, "120b", "uniform", ep_size=4, ep_rank=3) for tokens in (1, 128, 4096)),
    _case(4096, "120b", "skewed", ep_size=4, ep_rank=0),
    dict(_case(128, "20b", "uniform"), hidden=3072, intermediate=3072),
    _case(128, "20b", "uniform", preparation="callers"),
]


def inputs(
    *, seed=0, tokens, experts, hidden, intermediate, top_k, routing, preparation="own", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x = _layouts.padded(_draw.normal(source, tokens, hidden, dtype="bfloat16"), MULTIPLE)
    return dict(
        x=x,
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=_experts.gates(source, tokens, top_k),
        **_mx_experts.weights(source, here, hidden, intermediate, MULTIPLE),
        preparation=preparation,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    if "converted" not in inputs:  # once for all parts of these inputs
        pairs = [(inputs[name], inputs[f"{name}_scales"]) for name in ("first", "second")]
        inputs["converted"] = [_sm90_mixed.converted(*pair, inputs["preparation"]) for pair in pairs]
    (first, first_scales), (second, second_scales) = inputs["converted"]
    limits = _experts.limits(len(first), first.device)
    asked = dict(
        fc1_expert_weights=first,
        fc2_expert_weights=second,
        quant_scales=[first_scales.view(torch.int32), second_scales.view(torch.int32)],
        fc1_expert_biases=inputs["first_bias"],
        fc2_expert_biases=inputs["second_bias"],
        use_w4_group_scaling=True,
        **{f"swiglu_{name}": value for name, value in limits.items()},
    )
    return _cutlass.call(function, inputs, inputs["second"].shape[1], **asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "chosen", "gates"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    layer = _mx_experts.layer(inputs, middle=lambda middle: middle)
    return _cutlass.answer(inputs, inputs["x"].float(), layer)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, tokens, experts, hidden, intermediate, top_k, routing, preparation="own", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_mx_experts.weight_bytes(hidden, intermediate),
        row_bytes=2 * hidden,
        unit="bf16",
    )
