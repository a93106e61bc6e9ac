"""Routing and a whole expert layer in one call of trtllm-gen, on SM100 and SM103, in nvfp4 as in `_nvfp4_experts`.

The scales of x are linear; `scale_shape` hands them over as `rows` [tokens, hidden/16] or `flat`, one
dimension. The sources of 0.6.8.post1, 0.6.11.post1 and 0.6.16 to 0.6.18.post1 assert rows in each call, as the
tuner is set up; 0.7.0.post1 takes both. No refusal was seen: calls without a GPU end at the fetch before it.
`kind` is the routing, told in `_logits`: each that the library has, and what a version lacks is refused by
name. `ep_size` and `ep_rank` are as in cutlass_moe. The answer is bfloat16 [tokens, hidden]. The kernels are
fetched from the vendor's server, or come with flashinfer_cubin.

TOLERANCE: gates are rounded to bfloat16 and the middle may be quantized from other bits than ours, as if it
had been bfloat16: 2.6e-2 a row, 9e-2 for the worst of thousands. Missed: a middle that was not quantized at
all (9e-2), a lost group of 16 weights (1e-2), an expert's global scale that is off by a tenth (9e-2), a kind
of routing whose gates are the same. On the border: one off by a quarter (7e-2 to 1.9e-1); a lost group of 16
of x at hidden 7168 (1e-1 to 1.3e-1), which is seen at 2048 (1.5e-1 and more). Seen: rows or scales in another
order, gate and up swapped, a global scale left out, any other kind of routing, its bias left out or left in.
Source: flashinfer/fused_moe/core.py and trtllm_fused_moe_kernel_launcher.cu.
"""

from typing import Any

from . import _draw, _experts, _logits, _nvfp4_experts, _shapes, _trtllm

API = "flashinfer.fused_moe.trtllm_fp4_block_scale_moe"
DEVICES = ("cuda",)
SMS = (100, 103, 107, 120, 121)
TOLERANCE = 1.2e-1
VARIES = ("x", "x_scales", "logits")
SIZE = "tokens"
_DEEPSEEK = dict(
    experts=256, hidden=_shapes.DEEPSEEK_HIDDEN, intermediate=2048, top_k=8, ep_size=8, ep_rank=7
)
_SMALL = dict(experts=64, hidden=2048, intermediate=1024)


def _case(
    tokens: int, kind: str, shape: dict[str, Any], routing: str = "uniform", **more: Any
) -> dict[str, Any]:
    return dict(kind=kind, tokens=tokens, **shape, routing=routing, **more)


CASES = [
    *(_case(tokens, "deepseek_v3", _DEEPSEEK) for tokens in (1, 16, 128, 1024, 4096)),
    *(_case(tokens, "deepseek_v3", _DEEPSEEK, "skewed") for tokens in (128, 4096)),
    _case(128, "deepseek_v3", _DEEPSEEK, scale_shape="flat"),
    *(
        _case(128, kind, dict(_SMALL, top_k=1 if kind == "llama4" else 4))
        for kind in _logits.KINDS
        if kind != "deepseek_v3"
    ),
]


def inputs(
    *, seed=0, kind, tokens, experts, hidden, intermediate, top_k, routing,
    scale_shape="rows", ep_size=1, ep_rank=0,
) -> dict[str, Any]:  # fmt: skip
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x, x_scales, x_global = _nvfp4_experts.rows(_draw.normal(source, tokens, hidden))
    chosen = _logits.choose(tokens, experts, top_k, routing, kind)
    return dict(
        x=x,
        x_scales=x_scales,
        x_global=x_global,
        middle_global=_nvfp4_experts.middle_global(x.device),
        **_logits.drawn(source, chosen, experts, kind),
        **_nvfp4_experts.weights(source, here, hidden, intermediate),
        kind=kind,
        top_k=top_k,
        scale_shape=scale_shape,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    first, second = _nvfp4_experts.alphas(inputs)
    scalars = (first * inputs["middle_global"], first, second)
    return _trtllm.call(function, inputs, **dict(zip(_trtllm.SCALARS, scalars)))  # noqa: B905


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "x_scales", "logits"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    rows = _nvfp4_experts.values(inputs["x"], inputs["x_scales"], inputs["x_global"])
    return _trtllm.answer(inputs, rows, _nvfp4_experts.layer(inputs))


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _trtllm.reached(inputs)


def cost(
    *, kind, tokens, experts, hidden, intermediate, top_k, routing, scale_shape="rows", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """As in `_experts.cost`; of the logits only those of the experts that are chosen count."""
    return _experts.cost(
        _logits.choose(tokens, experts, top_k, routing, kind),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_nvfp4_experts.stored_bytes(3 * hidden * intermediate),
        row_bytes=_nvfp4_experts.stored_bytes(hidden),
        unit="fp4",
    )


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """trtllm-gen's kernels are fetched."""
    return True
