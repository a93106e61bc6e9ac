"""Routing and a whole gpt-oss expert layer in one call of trtllm-gen, on SM100 and SM103: mxfp4 weights.

Weights, biases and swiglu are those of `_mx_experts`, hidden and intermediate padded with zeros to a multiple
of 256 (2880 to 3072) as callers do. `scheme` is `mxfp8`, x and the middle in e4m3 with a power of two for
each 32 columns, or `bf16`. The scales of x are linear; `scale_shape` hands them over as `rows` [tokens,
hidden/32] or `flat`, as they come from mxfp8_quantize; trtllm_moe.py tells what was read of that. Routing is
`renormalize` of `_logits`; `ep_size` and `ep_rank` are as in cutlass_moe. The answer is bfloat16 [tokens,
hidden]. The kernels are fetched from the vendor's server, or come with flashinfer_cubin.

TOLERANCE: gates are rounded to bfloat16 and the middle may be rounded from other bits than ours, as if it had
been bfloat16: 1.7e-2 a row, 3e-2 for the worst of thousands. Missed: a middle that was not rounded to e4m3
(3e-2), a lost group of 32 weights (under 1e-3). Seen: a lost group of 32 of x (1.4e-1 and more), rows, scales or
biases in another order, gate and up swapped, a bias, alpha, beta or limit left out.
Source: flashinfer/fused_moe/core.py and trtllm_fused_moe_kernel_launcher.cu.
"""

from typing import Any

from . import _draw, _experts, _fp4, _layouts, _logits, _mx, _mx_experts, _shapes, _trtllm

API = "flashinfer.fused_moe.trtllm_fp4_block_scale_moe"
DEVICES = ("cuda",)
SMS = (100, 103, 107, 120, 121)
TOLERANCE = 5e-2
VARIES = ("x", "x_scales", "logits")
SIZE = "tokens"
MULTIPLE = 256
KIND = "renormalize"


def _case(scheme: str, tokens: int, routing: str = "uniform", **more: Any) -> dict[str, Any]:
    size = dict(hidden=_shapes.GPT_OSS_HIDDEN, intermediate=_shapes.GPT_OSS_INTERMEDIATE)
    shape = dict(experts=_shapes.GPT_OSS_EXPERTS["120b"], **size, top_k=_shapes.GPT_OSS_TOP_K)
    return dict(scheme=scheme, tokens=tokens, **shape, routing=routing, ep_size=4, ep_rank=3, **more)


CASES = [
    *(_case(scheme, tokens) for scheme in ("mxfp8", "bf16") for tokens in (1, 16, 128, 1024, 4096)),
    *(_case(scheme, 4096, "skewed") for scheme in ("mxfp8", "bf16")),
    _case("mxfp8", 128, scale_shape="flat"),
]


def inputs(
    *, seed=0, scheme, tokens, experts, hidden, intermediate, top_k, routing,
    scale_shape="rows", ep_size=1, ep_rank=0,
) -> dict[str, Any]:  # fmt: skip
    """The experts of each token come from the case, not from the seed: `cost` counts on them.

    With `bf16`, `x_scales` has no columns.
    """
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    drawn = _layouts.padded(_draw.normal(source, tokens, hidden), MULTIPLE)
    x, x_scales = _mx_experts.fp8_rows(drawn)
    chosen = _logits.choose(tokens, experts, top_k, routing, KIND)
    return dict(
        x=x if scheme == "mxfp8" else drawn.bfloat16(),
        x_scales=x_scales if scheme == "mxfp8" else x_scales[:, :0].contiguous(),
        **_logits.drawn(source, chosen, experts, KIND),
        **_mx_experts.weights(source, here, hidden, intermediate, MULTIPLE),
        kind=KIND,
        top_k=top_k,
        scale_shape=scale_shape,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    limits = _experts.limits(len(inputs["first"]), inputs["x"].device)
    named = dict(gemm1_alpha="alpha", gemm1_beta="beta", gemm1_clamp_limit="limit")
    return _trtllm.call(function, inputs, **{name: limits[each] for name, each in named.items()})


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "x_scales", "logits"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    x, scales = inputs["x"], inputs["x_scales"]
    if scales.shape[1]:
        rows, layer = (
            _mx_experts.of_fp8_rows(x, scales),
            _mx_experts.layer(inputs, _mx.rounded_to_fp8),
        )
    else:
        rows, layer = x.float(), _mx_experts.layer(inputs, lambda middle: middle)
    return _trtllm.answer(inputs, rows, layer)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _trtllm.reached(inputs)


def cost(
    *, scheme, tokens, experts, hidden, intermediate, top_k, routing, scale_shape="rows", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """As in `_experts.cost`; of the logits only those of the experts that are chosen count."""
    mxfp8 = scheme == "mxfp8"
    return _experts.cost(
        _logits.choose(tokens, experts, top_k, routing, KIND),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_mx_experts.weight_bytes(hidden, intermediate),
        row_bytes=hidden + hidden // _fp4.GROUP if mxfp8 else 2 * hidden,
        unit="fp8" if mxfp8 else "bf16",
    )


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched."""
    return True
