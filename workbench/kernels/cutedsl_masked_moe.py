"""Expert layers on rows already sorted into a table for each expert, by CuTe DSL's masked grouped product, nvfp4.

x bfloat16 [experts, places, hidden], of which each expert has its first `masked` rows and the rest is 1e4;
weights as in `_nvfp4_experts`, but gate before up, as silu_and_mul_scaled_nvfp4_experts_quantize wants it.
Four calls, as servers make them after an all-to-all: quantize x, first product, swiglu and quantize, second
product. The answer is bfloat16 [experts, places, hidden]; rows beyond the mask are not looked at. `flow`:
`moe` is all four, `product` the first two. `input_global_scale`: `whole` has one for each expert, all
different, `first` the first alone, which the versions seen refuse where there are more experts than one.
`fill`: `even` gives each expert as many rows, `ragged` from all places down to none.
The environment must name nvidia-cutlass-dsl.

TOLERANCE: products and middle are rounded to bfloat16 before the middle is quantized: 2.6e-2 a row, 9e-2 for
the worst of thousands. Missed: a middle that was not quantized at all (9e-2), the global scale of the expert
before where it differs by a tenth (9e-2). On the border: a lost group of 16 of x (1.2e-1 to 1.5e-1). Seen: a
global scale that is further off, gate and up swapped, an expert's last row not computed.
Source: flashinfer/gemm/kernels/grouped_gemm_masked_blackwell.py, quantization/fp4_quantization.py,
activation.py.
"""

import importlib
from typing import Any

from . import _draw, _fp4, _layouts, _nvfp4, _nvfp4_experts, _shapes

API = "flashinfer.gemm.grouped_gemm_nt_masked"
NEEDS = {"cutlass": "nvidia-cutlass-dsl"}  # without it the library has no such function
DEVICES = ("cuda",)
SMS = (100, 103, 107)
TOLERANCE = 1.2e-1
VARIES = ("x",)
BEYOND = 1e4
FORMATS = dict(
    ab_dtype="float4_e2m1fn", sf_dtype="float8_e4m3fn", c_dtype="bfloat16", sf_vec_size=_nvfp4.GROUP
)
_DEEPSEEK = dict(experts=32, hidden=_shapes.DEEPSEEK_HIDDEN, intermediate=2048)
CASES = [
    *(dict(places=places, **_DEEPSEEK, fill=fill) for fill in ("even", "ragged") for places in (128, 1024)),
    dict(places=128, **_DEEPSEEK, fill="ragged", flow="product"),
    dict(places=128, **_DEEPSEEK, fill="ragged", input_global_scale="first"),
    dict(places=128, **dict(_DEEPSEEK, experts=1), fill="even", input_global_scale="first"),
]


def filled(places: int, experts: int, fill: str) -> list[int]:
    """Rows of each expert; `ragged` falls from all places at the first one to none at the last."""
    if fill == "even":
        return [places] * experts
    if fill == "ragged":
        return [places * (experts - 1 - expert) // max(experts - 1, 1) for expert in range(experts)]
    raise ValueError(f"fill {fill!r}: it is 'even' or 'ragged'")


def inputs(
    *, seed=0, places, experts, hidden, intermediate, fill, flow="moe", input_global_scale="whole"
) -> dict[str, Any]:
    import torch

    source = _draw.generator(seed)
    weights = _nvfp4_experts.weights(source, experts, hidden, intermediate)
    masked = torch.tensor(filled(places, experts, fill), dtype=torch.int32, device=weights["first"].device)
    x = _draw.normal(source, experts, places, hidden).clamp(-_nvfp4.LARGEST, _nvfp4.LARGEST)
    beyond = torch.arange(places, device=x.device) >= masked.unsqueeze(1)
    # Each expert has a scale of its own: who takes another one's is seen.
    steps = 1 + torch.arange(experts, device=x.device) / 8
    return dict(
        x=x.masked_fill(beyond.unsqueeze(-1), BEYOND).bfloat16(),
        masked=masked,
        x_global=_nvfp4.LARGEST_SCALE * _fp4.GRID[-1] / _nvfp4.LARGEST / steps,
        middle_global=_nvfp4_experts.middle_global(x.device) / steps,
        **weights,
        flow=flow,
        input_global_scale=input_global_scale,
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    library = importlib.import_module("flashinfer")
    if "converted" not in inputs:
        inputs["converted"] = [weights(inputs, name) for name in ("first", "second")]
    first, second = inputs["converted"]
    x, masked, whole = inputs["x"], inputs["masked"], inputs["flow"] == "moe"
    x_global = inputs["x_global"] if inputs["input_global_scale"] == "whole" else inputs["x_global"][:1]
    middle_global = inputs["middle_global"]
    back, back_again = _nvfp4_experts.alphas(inputs)
    products = x.new_empty((*x.shape[:2], inputs["first"].shape[1]))
    out = torch.empty_like(x) if whole else products

    def call() -> Any:
        rows = library.scaled_fp4_grouped_quantize(a=x, mask=masked, a_global_sf=x_global)
        multiply(function, rows, first, products, masked, back)
        if whole:
            quantize = library.silu_and_mul_scaled_nvfp4_experts_quantize
            rows = quantize(a=products, mask=masked, a_global_sf=middle_global)
            multiply(function, rows, second, out, masked, back_again)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def multiply(function: Any, rows: Any, weights: Any, out: Any, masked: Any, alpha: Any) -> None:
    """Into `out` [experts, places, columns], which the library wants to see with the experts last."""
    asked = dict(lhs=rows, rhs=weights, out=out.permute(1, 2, 0), masked_m=masked, **FORMATS)
    function(**asked, alpha=alpha.view(1, 1, -1), alpha_dtype="float32")


def weights(inputs: dict[str, Any], name: str) -> tuple[Any, Any]:
    """Codes [rows, columns/2, experts] and scales in tiles, [32, 4, rows/128, 4, columns/64, experts]."""
    import torch

    codes, scales = inputs[name], inputs[f"{name}_scales"]
    if name == "first":  # gate before up
        codes, scales = (torch.cat(each.chunk(2, dim=1)[::-1], dim=1) for each in (codes, scales))
    tiles = _layouts.swizzled(scales).view(torch.float8_e4m3fn)
    tiles = tiles.view(len(scales), tiles.shape[1] // 128, tiles.shape[2] // 4, 32, 4, 4)
    return codes.permute(1, 2, 0), tiles.permute(3, 4, 1, 5, 2, 0)


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The rows within the mask, one expert after the other."""
    import torch

    counts = inputs["masked"].tolist()
    return {"out": torch.cat([result[expert, :count] for expert, count in enumerate(counts)]).float()}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    answers = []
    for expert, count in enumerate(inputs["masked"].tolist()):
        of_expert = {**inputs, "middle_global": inputs["middle_global"][expert]}
        rows = _nvfp4_experts.rounded(inputs["x"][expert, :count].float(), inputs["x_global"][expert])
        if inputs["flow"] == "moe":
            answers.append(_nvfp4_experts.layer(of_expert)(expert, rows))
        else:
            up, gate = _nvfp4_experts.product(inputs, "first", expert, rows).chunk(2, dim=-1)
            answers.append(torch.cat((gate, up), dim=-1))
    return {"out": torch.cat(answers)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    places = inputs["x"].shape[1]
    return {"last expert": bool(inputs["masked"][-1]), "last place": bool((inputs["masked"] == places).any())}


def cost(
    *, places, experts, hidden, intermediate, fill, flow="moe", input_global_scale="whole"
) -> dict[str, Any]:
    """x and answer bfloat16, weights of the experts that have rows; what is between the calls once out and in."""
    each, products = filled(places, experts, fill), 3 if flow == "moe" else 2
    rows, touched = sum(each), sum(map(bool, each))
    moved = touched * _nvfp4_experts.stored_bytes(products * hidden * intermediate)
    moved += rows * (2 * hidden + 2 * (hidden if flow == "moe" else 2 * intermediate))
    return dict(bytes=moved, flops=2 * products * rows * hidden * intermediate, unit="fp4")
