"""MXFP8 quantize: bfloat16 rows to e4m3 codes with a power of two for each 32 columns.

The call gives codes e4m3 [tokens, hidden] and scales in the `layout` that `_block_scales` tells. `backend` is
`cuda` or `cute-dsl`, always said.

TOLERANCE, on dequantised rows against our own quantiser: one over a power of two is exact where the hardware's
approximation is, else every sixteenth value, a tie, may go either way; emulated, the worst of 512 rows of 2880
is then 2.3e-2 off. Seen: values cut off instead of rounded (6e-2), a lost or another group's scale, a lost
group. Missed: ties that go the wrong way, a few codes off by a step.
On GPUs before SM100 all versions known so far return without having written anything: that is found wrong.
Source: flashinfer/quantization/fp8_quantization.py.
"""

import inspect
from typing import Any

from . import _block_scales, _draw, _mx, _shapes

API = "flashinfer.mxfp8_quantize"
DEVICES = ("cuda",)
TOLERANCE = 3e-2
VARIES = ("x",)
SIZE = "tokens"
_HIDDEN = (_shapes.GPT_OSS_HIDDEN, _shapes.DEEPSEEK_HIDDEN)


def _case(tokens: int, hidden: int, layout: str = "swizzled", backend: str = "cuda") -> dict[str, Any]:
    return dict(tokens=tokens, hidden=hidden, layout=layout, backend=backend)


CASES = [
    *(_case(tokens, hidden) for hidden in _HIDDEN for tokens in _shapes.TOKENS),
    *(_case(tokens, _shapes.GPT_OSS_HIDDEN, "linear") for tokens in (128, 8192)),
    _case(128, _shapes.DEEPSEEK_HIDDEN, "8x4"),
    *(_case(tokens, _shapes.DEEPSEEK_HIDDEN, backend="cute-dsl") for tokens in (128, 8192)),
]


def inputs(*, seed: int = 0, tokens: int, hidden: int, layout: str, backend: str) -> dict[str, Any]:
    drawn = _draw.normal(_draw.generator(seed), tokens, hidden, dtype="bfloat16")
    return dict(x=_mx.off_the_border(drawn, _mx.FP8), layout=layout, backend=backend)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    layout = inputs["layout"]
    asked = dict(input=inputs["x"], alignment=_mx.GROUP, backend=inputs["backend"])
    asked.update(is_sf_swizzled_layout=layout != "linear")
    if layout == "8x4":
        if "sf_swizzle_layout" not in inspect.signature(function).parameters:
            raise NotImplementedError("this version's mxfp8_quantize takes no sf_swizzle_layout")
        asked.update(sf_swizzle_layout=_block_scales.layout_of_the_library(layout))
    return lambda: function(**asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return {**inputs, "x": inputs["x"][:tokens]}


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = result
    return {"dequantized": _mx.stored_fp8(codes, scales, inputs["layout"])}


def raw(result: Any) -> list[Any]:
    return list(result)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"dequantized": _mx.rounded_to_fp8(inputs["x"].float())}


def cost(*, tokens: int, hidden: int, layout: str, backend: str) -> dict[str, Any]:
    """Each value read once, each code and scale written once; the padding of tiles is not counted."""
    values = tokens * hidden
    return dict(bytes=3 * values + values // _mx.GROUP, flops=values, unit="fp32")
