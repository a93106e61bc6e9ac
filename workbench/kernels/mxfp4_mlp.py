"""A gpt-oss expert layer with mxfp4 weights: mxfp4_swiglu.py, then mxfp4_combine.py, as one call.

x bfloat16 [tokens, hidden]; first weights [experts, 2 * intermediate, hidden], second ones [experts, hidden,
intermediate], e2m1 with a power of two for each 32; a bias float32 to each. The middle, bfloat16 [tokens * top_k,
intermediate], stays sorted by expert. `intermediate` is 2880, or a rank's slice of it padded to 64: what ranks add
up between them is not part of it. `pad_scales` pads both scales, as in mxfp4_swiglu.py.

TOLERANCE: the middle, the rows, their sum and the answer are rounded to bfloat16, about 5e-3 a token. Seen: what
each half's own file says of whole rows and columns. Missed: one element off in the middle, which is lost in the
second product.
Source: triton_kernels/matmul_ogs.py (matmul.py and reduce.py in later copies) and swiglu.py.
"""

import importlib
from typing import Any

from . import _draw, _experts, _mxfp4_experts, _routing, _shapes, _triton_kernels

API = "triton_kernels.matmul_ogs.matmul_ogs"
ALSO = ("triton_kernels.matmul.matmul",)  # what it is called in later copies
DEVICES = ("cuda",)
TOLERANCE = 1.5e-2
VARIES = ("x",)
SIZE = "tokens"
ACCUMULATED_STD = 3.0  # of the first products, so that the limit is met; see mxfp4_swiglu.py


def _case(tokens: int, model: str, routing: str = "uniform", ranks: int = 1) -> dict[str, Any]:
    shape = dict(experts=_shapes.GPT_OSS_EXPERTS[model], intermediate=_shapes.gpt_oss_slice(ranks))
    more = dict(hidden=_shapes.GPT_OSS_HIDDEN, top_k=_shapes.GPT_OSS_TOP_K)
    return dict(tokens=tokens, **shape, **more, routing=routing)


CASES = [
    *(_case(tokens, "20b") for tokens in _shapes.TOKENS),
    _case(1024, "20b", "skewed"),
    *(_case(tokens, "120b") for tokens in (1, 128, 1024, 8192)),
    *(_case(tokens, "120b", ranks=4) for tokens in (16, 1024, 8192)),
]


def inputs(
    *, seed=0, tokens, experts, intermediate, hidden, top_k, routing, pad_scales=False
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source = _draw.generator(seed)
    x = _draw.normal(source, tokens, hidden, dtype="bfloat16")
    biases = [_draw.normal(source, experts, columns) for columns in (2 * intermediate, hidden)]
    first = _mxfp4_experts.draw(source, experts, 2 * intermediate, hidden, ACCUMULATED_STD / hidden**0.5)
    second = _mxfp4_experts.draw(source, experts, hidden, intermediate, intermediate**-0.5)
    return dict(
        x=x,
        first=(*first, biases[0]),
        second=(*second, biases[1]),
        gates=_experts.gates(source, tokens, top_k),
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        pad_scales=pad_scales,
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    library = importlib.import_module(function.__module__)
    x, chosen, (packed, _, bias) = inputs["x"], inputs["chosen"], inputs["first"]
    if "converted" not in inputs:  # once for all parts of these inputs
        inputs["converted"] = [_converted(library, inputs, name) for name in ("first", "second")]
    first, second = inputs["converted"]
    _triton_kernels.persist_on_blackwell(library, x.device)
    middle = torch.empty((1, chosen.numel(), packed.shape[1] // 2), dtype=x.dtype, device=x.device)
    asked = _triton_kernels.arguments(library, x, first, bias, chosen, len(packed), middle)
    limits = _mxfp4_experts.ALPHA, _mxfp4_experts.LIMIT
    asked.update(fused_activation=_triton_kernels.swiglu(library, *limits))
    out = torch.empty_like(x)
    room = _triton_kernels.room_to_combine(library, out, chosen.shape[1])
    given = (middle[0], second, inputs["second"][2], chosen, inputs["gates"], len(packed), room)
    then = _triton_kernels.combining(library, *given)

    def call() -> Any:
        function(**asked)
        function(**then)
        _triton_kernels.add_up(library, room, out)
        return out

    call.outputs = [middle, room, out]  # type: ignore[attr-defined]
    return call


def _converted(library: Any, inputs: dict[str, Any], name: str) -> Any:
    packed, exponents, _ = inputs[name]
    exponents = _mxfp4_experts.padded(exponents) if inputs["pad_scales"] else exponents
    return _triton_kernels.weights(library, packed, exponents)


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(inputs["chosen"], len(inputs["first"][0]))}


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The first tokens, with the same weights."""
    return {**inputs, **{name: inputs[name][:tokens] for name in ("x", "chosen", "gates")}}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    chosen, experts = inputs["chosen"], len(inputs["first"][0])
    rows = _mxfp4_experts.rows_of(inputs["x"], chosen, experts)
    middle = _mxfp4_experts.swiglu(_mxfp4_experts.products(rows, chosen, *inputs["first"]))
    products = _mxfp4_experts.products(middle, chosen, *inputs["second"])
    return {"out": _mxfp4_experts.combined(products, chosen, inputs["gates"], experts)}


def cost(*, tokens, experts, intermediate, hidden, top_k, routing, pad_scales=False) -> dict[str, Any]:
    """Weights, scales and biases of the experts that have tokens, x, answer, gates and row numbers, each once.

    The middle is not counted: nothing says that it must leave the chip.
    """
    rows = tokens * top_k
    weights = _mxfp4_experts.weight_bytes(2 * intermediate, hidden)
    weights += _mxfp4_experts.weight_bytes(hidden, intermediate)
    moved = _routing.touched(tokens, experts, top_k, routing) * weights + 4 * tokens * hidden + 8 * rows
    return dict(bytes=moved, flops=2 * rows * 3 * intermediate * hidden, unit="bf16")
