"""Expert matrix product, mxfp4 weights, rows put back by token: the second half of a gpt-oss expert layer.

x bfloat16 [tokens * top_k, intermediate], as mxfp4_swiglu.py leaves it, its rows sorted by expert; weights e2m1
with a power of two for each 32, [experts, hidden, intermediate]; bias float32 [experts, hidden]. Each row is
multiplied by its gate, and the rows of each token are added up: bfloat16 [tokens, hidden]. matmul_ogs does all of
it in one call; later copies have `matmul`, which leaves a row for each choice, and `reduce`, which is called
after it and timed with it.
`intermediate` is 2880, or a rank's slice of it padded to 64. On Hopper every copy known so far reads past the
scales where it is no multiple of 128, see mxfp4_swiglu.py; `pad_scales` as there.

TOLERANCE: rows, their sum and the answer rounded to bfloat16 are about 4e-3 a token. Seen: a choice left out or
counted twice, gates of another choice, a lost bias, a row put back to another token. Missed: one element of a row
that is off by less than about half of the row's usual size.
Source: triton_kernels/matmul_ogs.py (matmul.py and reduce.py in later copies).
"""

import importlib
from typing import Any

from . import _draw, _experts, _mxfp4_experts, _routing, _shapes, _triton_kernels

API = "triton_kernels.matmul_ogs.matmul_ogs"
ALSO = ("triton_kernels.matmul.matmul",)  # what it is called in later copies
DEVICES = ("cuda",)
TOLERANCE = 1e-2
VARIES = ("x",)


def _case(
    tokens: int, model: str, routing: str = "uniform", ranks: int = 1, intermediate: int = 0
) -> dict[str, Any]:
    experts, top_k = _shapes.GPT_OSS_EXPERTS[model], _shapes.GPT_OSS_TOP_K
    shape = dict(experts=experts, intermediate=intermediate or _shapes.gpt_oss_slice(ranks))
    return dict(tokens=tokens, **shape, hidden=_shapes.GPT_OSS_HIDDEN, top_k=top_k, routing=routing)


CASES = [
    *(_case(tokens, "20b") for tokens in _shapes.TOKENS),
    _case(1024, "20b", "skewed"),
    *(_case(tokens, "120b") for tokens in (1, 128, 1024, 8192)),
    *(_case(1024, "120b", ranks=ranks) for ranks in (2, 4, 8)),
    _case(8192, "120b", ranks=4),
    _case(1024, "20b", intermediate=3072),
]


def inputs(
    *, seed=0, tokens, experts, intermediate, hidden, top_k, routing, pad_scales=False
) -> dict[str, Any]:
    """The experts of each token come from the case, not from the seed: `cost` counts on them."""
    source = _draw.generator(seed)
    x = _draw.normal(source, tokens * top_k, intermediate, dtype="bfloat16")
    bias = _draw.normal(source, experts, hidden)
    packed, exponents = _mxfp4_experts.draw(source, experts, hidden, intermediate, intermediate**-0.5)
    return dict(
        x=x,
        packed=packed,
        exponents=exponents,
        bias=bias,
        gates=_experts.gates(source, tokens, top_k),
        chosen=_routing.tensor(x.device, tokens, experts, top_k, routing),
        pad_scales=pad_scales,
    )


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    import torch

    library = importlib.import_module(function.__module__)
    x, chosen, packed, exponents = (inputs[name] for name in ("x", "chosen", "packed", "exponents"))
    exponents = _mxfp4_experts.padded(exponents) if inputs["pad_scales"] else exponents
    weights = _triton_kernels.weights(library, packed, exponents)
    _triton_kernels.persist_on_blackwell(library, x.device)
    out = torch.empty((len(chosen), packed.shape[1]), dtype=x.dtype, device=x.device)
    room = _triton_kernels.room_to_combine(library, out, chosen.shape[1])
    given = (x, weights, inputs["bias"], chosen, inputs["gates"], len(packed), room)
    asked = _triton_kernels.combining(library, *given)

    def call() -> Any:
        function(**asked)
        _triton_kernels.add_up(library, room, out)
        return out

    call.outputs = [room, out]  # type: ignore[attr-defined]
    return call


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(inputs["chosen"], len(inputs["packed"]))}


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    chosen, weights = inputs["chosen"], (inputs["packed"], inputs["exponents"], inputs["bias"])
    products = _mxfp4_experts.products(inputs["x"].float(), chosen, *weights)
    return {"out": _mxfp4_experts.combined(products, chosen, inputs["gates"], len(inputs["packed"]))}


def cost(*, tokens, experts, intermediate, hidden, top_k, routing, pad_scales=False) -> dict[str, Any]:
    """Weights, scales and bias of the experts that have tokens, x, answer, gates and row numbers, each once."""
    rows = tokens * top_k
    moved = _routing.touched(tokens, experts, top_k, routing) * _mxfp4_experts.weight_bytes(
        hidden, intermediate
    )
    moved += 2 * rows * intermediate + 2 * tokens * hidden + 8 * rows
    return dict(bytes=moved, flops=2 * rows * hidden * intermediate, unit="bf16")
