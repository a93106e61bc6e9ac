"""A whole expert layer by CuTe DSL kernels on SM90, bfloat16: CuteDslBf16MoEWrapper, of 0.7.0 and later.

Weights, experts, gates and the answer are those of cutlass_moe, `ep_size` and `ep_rank` too; the library
wants up and gate in turns of 32 rows. `finalize`: `fused` adds up the experts of a token in the second
product, in bfloat16 and in any order; `deterministic` in a kernel of its own, in float32.
The environment must name nvidia-cutlass-dsl, 4.6.2 or later; the module that sorts tokens
needs headers from the vendor's server, on SM90 too.

TOLERANCE: the middle is rounded to bfloat16 and with `fused` each partial sum, about 5e-3 a row. Missed: one
element of a row that is off by less than its usual size. Seen: up and gate in other turns, an expert left
out.
Source: flashinfer/fused_moe/cute_dsl/sm90_fused_moe.py.
"""

from typing import Any

from . import _cutlass, _draw, _experts, _layouts, _routing, _shapes

API = "flashinfer.fused_moe.CuteDslBf16MoEWrapper"
NEEDS = {"cutlass": "nvidia-cutlass-dsl"}  # without it the library has no such function
DEVICES = ("cuda",)
SMS = (90,)
TOLERANCE = 2e-2
VARIES = ("x", "gates")
SIZE = "tokens"
TURNS = 32  # rows of up, then of gate
_GPT_OSS = dict(
    experts=_shapes.GPT_OSS_EXPERTS["20b"],
    hidden=_shapes.GPT_OSS_HIDDEN,
    intermediate=_shapes.GPT_OSS_INTERMEDIATE,
    top_k=_shapes.GPT_OSS_TOP_K,
)
_LADDER = (
    *((tokens, "uniform") for tokens in (1, 16, 128, 1024, 4096)),
    *((tokens, "skewed") for tokens in (128, 1024)),
)
CASES = [
    *(
        dict(tokens=tokens, **shape, routing=routing)
        for shape in (_GPT_OSS, _shapes.NARROW)
        for tokens, routing in _LADDER
    ),
    dict(tokens=1024, **_shapes.NARROW, routing="uniform", finalize="deterministic"),
    dict(tokens=1024, **_shapes.NARROW, routing="skewed", ep_size=8, ep_rank=0),
]


def inputs(
    *, seed=0, tokens, experts, hidden, intermediate, top_k, routing, finalize="fused", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x = _draw.normal(source, tokens, hidden, dtype="bfloat16")
    gates = _experts.gates(source, tokens, top_k)
    first = dict(std=2 * hidden**-0.5, dtype="bfloat16")
    second = dict(std=intermediate**-0.5, dtype="bfloat16")
    return dict(
        x=x,
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=gates,
        first=_draw.by_expert(here, lambda: _draw.normal(source, 2 * intermediate, hidden, **first)),
        second=_draw.by_expert(here, lambda: _draw.normal(source, hidden, intermediate, **second)),
        finalize=finalize,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    if "converted" not in inputs:  # once for all parts of these inputs
        inputs["converted"] = _layouts.interleaved(inputs["first"], TURNS)
    here, second = _cutlass.here(inputs), inputs["second"]
    wrapper = function(
        num_experts=len(here) * inputs["ep"][0],
        top_k=inputs["chosen"].shape[1],
        hidden_size=second.shape[1],
        intermediate_size=second.shape[2],
        num_local_experts=len(here),
        local_expert_offset=here.start,
        use_fused_finalize=inputs["finalize"] == "fused",
    )
    out = torch.empty_like(inputs["x"])
    asked = dict(
        x=inputs["x"],
        token_selected_experts=inputs["chosen"],
        token_final_scales=inputs["gates"],
        w1_weight=inputs["converted"],
        w2_weight=second,
        moe_output=out,
    )

    def call() -> Any:
        wrapper.run(**asked)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "chosen", "gates"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    def layer(expert: int, rows: Any) -> Any:
        middle = _experts.swiglu(rows @ inputs["first"][expert].float().T)
        return middle @ inputs["second"][expert].float().T

    return _cutlass.answer(inputs, inputs["x"].float(), layer)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, tokens, experts, hidden, intermediate, top_k, routing, finalize="fused", ep_size=1, ep_rank=0
) -> dict[str, Any]:
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=3 * hidden * intermediate * 2,
        row_bytes=2 * hidden,
        unit="bf16",
    )


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """Headers of the module that sorts tokens are fetched."""
    return True
