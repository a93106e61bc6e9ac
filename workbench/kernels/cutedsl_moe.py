"""A whole expert layer by CuTe DSL kernels on SM100 and SM103, in nvfp4 as in `_nvfp4_experts`.

Experts, gates and the answer are those of cutlass_moe, `ep_size` and `ep_rank` too. `entry`: the `wrapper`
CuteDslMoEWrapper, its buffers made ahead for CUDA graphs, or the `function` cute_dsl_fused_moe_nvfp4.
`input_global_scale`: who quantizes x. `ours`: it comes quantized. `whole` and `first`: the call begins with
the version's fp4_quantize of bfloat16 x, given a global scale for each expert, all equal, or the first alone.
From 0.6.11 on it wants one, or one for each row, and refuses `whole` (where there are as many rows as experts
it takes them for those); before, it read the first of them and looked at no more.
The environment must name nvidia-cutlass-dsl; the module that sorts tokens needs headers from the vendor's
server, or flashinfer_cubin.

TOLERANCE: the middle, and x where the version quantizes it, may be quantized from other bits than ours, as if
it had been bfloat16: 2.6e-2 a row, 9e-2 for the worst of thousands. Missed: a middle that was not quantized
at all (9e-2). On the border: a lost group of 16 of x at hidden 7168 (1.1e-1 to 1.4e-1), which is seen at 2048
(1.5e-1 and more). Seen: up and gate in other turns, scales in another order, a global scale left out.
Source: flashinfer/fused_moe/cute_dsl/fused_moe.py.
"""

import importlib
from typing import Any

from . import _cutlass, _draw, _experts, _layouts, _nvfp4, _nvfp4_experts, _routing, _shapes

API = "flashinfer.fused_moe.CuteDslMoEWrapper"
NEEDS = {"cutlass": "nvidia-cutlass-dsl"}  # without it the library has no such function
DEVICES = ("cuda",)
SMS = (100, 103, 107)
TOLERANCE = 1.2e-1
VARIES = ("x", "packed", "scales", "gates")
SIZE = "tokens"
TURNS = 64  # rows of up, then of gate
_DEEPSEEK = dict(
    experts=256, hidden=_shapes.DEEPSEEK_HIDDEN, intermediate=2048, top_k=8, ep_size=8, ep_rank=7
)
_SMALL = dict(experts=64, hidden=2048, intermediate=1024, top_k=4, routing="uniform")
CASES = [
    *(
        dict(tokens=tokens, **_DEEPSEEK, routing=routing)
        for tokens, routing in ((1, "uniform"), (128, "uniform"), (4096, "uniform"), (4096, "skewed"))
    ),
    dict(tokens=128, **_SMALL, entry="function"),
    *(dict(tokens=128, **_SMALL, input_global_scale=given) for given in ("whole", "first")),
]


def inputs(
    *, seed=0, tokens, experts, hidden, intermediate, top_k, routing,
    entry="wrapper", input_global_scale="ours", ep_size=1, ep_rank=0,
) -> dict[str, Any]:  # fmt: skip
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source, here = _draw.generator(seed), len(_experts.here(experts, ep_size, ep_rank))
    x = _draw.normal(source, tokens, hidden).clamp(-_nvfp4.LARGEST, _nvfp4.LARGEST).bfloat16()
    packed, scales, x_global = _nvfp4_experts.rows(x.float())
    return dict(
        x=x,
        packed=packed,
        scales=scales,
        x_global=x_global,
        middle_global=_nvfp4_experts.middle_global(x.device),
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        gates=_experts.gates(source, tokens, top_k),
        **_nvfp4_experts.weights(source, here, hidden, intermediate),
        entry=entry,
        input_global_scale=input_global_scale,
        ep=[ep_size, ep_rank],
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    library = importlib.import_module("flashinfer")
    if "converted" not in inputs:  # once for all parts of these inputs
        inputs["converted"] = converted(inputs)
    here, top_k = _cutlass.here(inputs), inputs["chosen"].shape[1]
    shared = dict(num_experts=len(here) * inputs["ep"][0], top_k=top_k)
    shared.update(num_local_experts=len(here), local_expert_offset=here.start)
    first, second = _nvfp4_experts.alphas(inputs)
    asked = dict(
        token_selected_experts=inputs["chosen"],
        token_final_scales=inputs["gates"],
        w1_alpha=first,
        fc2_input_scale=inputs["middle_global"].view(1),
        w2_alpha=second,
        **inputs["converted"],
    )
    if inputs["entry"] == "function":
        run = importlib.import_module("flashinfer.fused_moe").cute_dsl_fused_moe_nvfp4
        asked.update(shared)
    else:
        hidden, intermediate = inputs["second"].shape[1], inputs["first"].shape[1] // 2
        size = dict(hidden_size=hidden, intermediate_size=intermediate, max_num_tokens=len(inputs["x"]))
        run = function(**shared, **size, use_cuda_graph=True, device=str(inputs["x"].device)).run
    rows = quantized(library, inputs)

    def call() -> Any:
        x, scales = rows()
        return run(x=x, x_sf=scales.unsqueeze(-1), **asked)

    return call


def converted(inputs: dict[str, Any]) -> dict[str, Any]:
    """First weights with up and gate in turns, scales in tiles, seen as the version's own helper sees them."""
    to_mma = importlib.import_module("flashinfer.cute_dsl.utils").convert_sf_to_mma_layout
    made = {}
    for number, name in ((1, "first"), (2, "second")):
        weights, scales = inputs[name], inputs[f"{name}_scales"]
        if name == "first":
            weights, scales = (_layouts.interleaved(each, TURNS) for each in (weights, scales))
        experts, rows, half = weights.shape
        shape = dict(m=rows, k=2 * half, num_groups=experts, sf_vec_size=_nvfp4.GROUP)
        made[f"w{number}_weight"] = weights
        made[f"w{number}_weight_sf"] = to_mma(sf=_layouts.swizzled(scales), **shape)
    return made


def quantized(library: Any, inputs: dict[str, Any]) -> Any:
    """A function that gives x packed with its scales, by whom the case says."""
    given = inputs["input_global_scale"]
    if given == "ours":
        packed, scales = inputs["packed"], inputs["scales"]
        return lambda: (packed, scales)
    whole = inputs["x_global"].repeat(len(inputs["first"]))
    asked = dict(input=inputs["x"], global_scale=whole if given == "whole" else whole[:1])
    asked.update(sf_vec_size=_nvfp4.GROUP, sf_use_ue8m0=False, is_sf_swizzled_layout=False)
    return lambda: library.fp4_quantize(**asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return _experts.part(inputs, tokens, ("x", "packed", "scales", "chosen", "gates"))


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    rows = _nvfp4_experts.values(inputs["packed"], inputs["scales"], inputs["x_global"])
    return _cutlass.answer(inputs, rows, _nvfp4_experts.layer(inputs))


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return _cutlass.reached(inputs)


def cost(
    *, tokens, experts, hidden, intermediate, top_k, routing,
    entry="wrapper", input_global_scale="ours", ep_size=1, ep_rank=0,
) -> dict[str, Any]:  # fmt: skip
    return _experts.cost(
        _routing.choose(tokens, experts, top_k, routing),
        _experts.here(experts, ep_size, ep_rank),
        hidden=hidden,
        intermediate=intermediate,
        weight_bytes=_nvfp4_experts.stored_bytes(3 * hidden * intermediate),
        row_bytes=_nvfp4_experts.stored_bytes(hidden) if input_global_scale == "ours" else 2 * hidden,
        unit="fp4",
    )


def needs_artifacts(*, sm: str, **case: Any) -> bool:
    """Headers of the module that sorts tokens are fetched."""
    return True
