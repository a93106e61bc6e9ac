"""Expert matrix product, mxfp4 weights, swiglu in the epilogue: the first half of a gpt-oss expert layer.

x bfloat16 [tokens, hidden]; weights e2m1 with a power of two for each 32, [experts, columns, hidden];
bias float32 [experts, columns]. Each token goes to top_k experts; the answer is bfloat16 [tokens *
top_k, columns / 2], its rows sorted by expert and, within an expert, by token. Even columns are the
gate, odd ones the linear part: gate * sigmoid(alpha * gate) * (linear + 1), the gate cut off above
`limit`, the linear part on both sides.

On Hopper every copy known so far reads a few bytes past the scales where hidden is no multiple of 128,
as 2880. Where those bytes are 0xFF (NaN as a scale) the last columns of the last expert's rows come out
wrong, without any error; cases with hidden 3072 stand beside it for that reason. `pad_scales` pads the
groups of 32 to a multiple of four (90 to 92) before the swizzle, as callers later did.

TOLERANCE: rounding to bfloat16 gives about 2e-3 a row. Missed: one element of a row that is off by less
than half of the row's usual size, or several by less; in the shorter rows of four ranks by less than a
quarter, of eight by less than 0.15 (0.2 is seen). A limit that is not kept is seen.
Source: triton_kernels/matmul_ogs.py (matmul.py in later copies) and swiglu.py.
"""

import importlib
from typing import Any

from . import _draw, _mxfp4_experts, _routing, _shapes, _triton_kernels

API = "triton_kernels.matmul_ogs.matmul_ogs"
ALSO = ("triton_kernels.matmul.matmul",)  # what it is called in later copies
DEVICES = ("cuda",)
TOLERANCE = 1e-2
VARIES = ("x",)
SIZE = "tokens"
ACCUMULATED_STD = 3.0  # of the products: about one in fifty then meets the limit of 7, so that it is tested


def _case(
    tokens: int, model: str, columns: int, routing: str, hidden: int = _shapes.GPT_OSS_HIDDEN
) -> dict[str, Any]:
    experts, top_k = _shapes.GPT_OSS_EXPERTS[model], _shapes.GPT_OSS_TOP_K
    shape = dict(experts=experts, hidden=hidden, columns=columns, top_k=top_k)
    return dict(tokens=tokens, **shape, routing=routing)


_WHOLE, _SLICE = 2 * _shapes.GPT_OSS_INTERMEDIATE, _shapes.GPT_OSS_TP4_COLUMNS
CASES = [
    *(_case(tokens, "20b", _WHOLE, "uniform") for tokens in _shapes.TOKENS),
    *(_case(tokens, "20b", _WHOLE, "skewed") for tokens in (128, 1024)),
    *(_case(tokens, "120b", _WHOLE, "uniform") for tokens in (1, 128, 1024, 8192)),
    *(_case(tokens, "120b", _SLICE, "uniform") for tokens in (16, 1024, 8192)),
    _case(1024, "120b", _SLICE, "skewed"),
    *(_case(tokens, "20b", _WHOLE, "uniform", hidden=3072) for tokens in (16, 1024)),
    *(_case(1024, "120b", 2 * _shapes.gpt_oss_slice(ranks), "uniform") for ranks in (2, 8)),
]


def inputs(
    *,
    seed: int = 0,
    tokens: int,
    experts: int,
    hidden: int,
    columns: int,
    top_k: int,
    routing: str,
    pad_scales: bool = False,
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source = _draw.generator(seed)
    x = _draw.normal(source, tokens, hidden, dtype="bfloat16")
    bias = _draw.normal(source, experts, columns)
    std = ACCUMULATED_STD / hidden**0.5
    packed, exponents = _mxfp4_experts.draw(source, experts, columns, hidden, std)
    chosen = _routing.tensor(x.device, tokens, experts, top_k, routing)
    made = dict(x=x, packed=packed, exponents=exponents, bias=bias, chosen=chosen)
    return {**made, "pad_scales": True} if pad_scales else made


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    library = importlib.import_module(function.__module__)
    x, chosen, packed = inputs["x"], inputs["chosen"], inputs["packed"]
    if "converted" not in inputs:  # once for all parts of these inputs
        exponents = inputs["exponents"]
        exponents = _mxfp4_experts.padded(exponents) if inputs.get("pad_scales") else exponents
        inputs["converted"] = _triton_kernels.weights(library, packed, exponents)
    _triton_kernels.persist_on_blackwell(library, x.device)
    # Three dimensions, for the earlier generation asks for exactly that.
    y = torch.empty((1, chosen.numel(), packed.shape[1] // 2), dtype=x.dtype, device=x.device)
    given = (x, inputs["converted"], inputs["bias"], chosen, len(packed), y)
    asked = _triton_kernels.arguments(library, *given)
    asked.update(fused_activation=_triton_kernels.swiglu(library, _mxfp4_experts.ALPHA, _mxfp4_experts.LIMIT))

    def call() -> Any:
        function(**asked)
        return y[0]

    call.outputs = [y]  # type: ignore[attr-defined]
    return call


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(inputs["chosen"], len(inputs["packed"]))}


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The first tokens, with the same weights."""
    return {**inputs, **{name: inputs[name][:tokens] for name in ("x", "chosen")}}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    weights = (inputs["packed"], inputs["exponents"], inputs["bias"])
    rows = _mxfp4_experts.rows_of(inputs["x"], inputs["chosen"], len(inputs["packed"]))
    return {"out": _mxfp4_experts.swiglu(_mxfp4_experts.products(rows, inputs["chosen"], *weights))}


def cost(
    *,
    tokens: int,
    experts: int,
    hidden: int,
    columns: int,
    top_k: int,
    routing: str,
    pad_scales: bool = False,
) -> dict[str, Any]:
    """Weights, scales and bias of the experts that have tokens, x, answer and row numbers, each once.

    Scales that are padding are not counted.
    """
    rows = tokens * top_k
    moved = _routing.touched(tokens, experts, top_k, routing) * _mxfp4_experts.weight_bytes(columns, hidden)
    moved += 2 * tokens * hidden + rows * columns + 4 * rows
    return dict(bytes=moved, flops=2 * rows * columns * hidden, unit="bf16")
