"""MXFP4 quantize: bfloat16 rows to e2m1 codes with a power of two for each 32 columns, by the function of that name.

The call gives codes uint8 [tokens, hidden/2] and scales in the `layout` that `_block_scales` tells; earlier
versions know `swizzled` alone. `backend` is `cuda` or `cute-dsl`, always said. With `cuda`, 0.6.7 to 0.6.15
first look for the largest magnitude of x, which mxfp4 has no use for: several torch kernels more, which read x
again and are seen among the launched kernels, and `fp4_quantize` with `format` mxfp4 stands beside it without
them. 0.6.16 does so no more.

TOLERANCE: scales are powers of two and halves go to the even code, so that nothing is approximate but one over
six, and the inputs keep off where that decides. One code off by a step is about 4e-3 of its row. Missed: a
code of the smallest magnitudes in a group of small ones.
On GPUs before SM100 versions up to 0.7.2.post1 return without having written anything: that is found wrong.
Source: flashinfer/quantization/fp4_quantization.py.
"""

import inspect
from typing import Any

from . import _block_scales, _draw, _fp4, _mx, _shapes

API = "flashinfer.mxfp4_quantize"
DEVICES = ("cuda",)
TOLERANCE = 1e-3
VARIES = ("x",)
SIZE = "tokens"
_HIDDEN = (_shapes.GPT_OSS_HIDDEN, _shapes.DEEPSEEK_HIDDEN)


def _case(tokens: int, hidden: int, layout: str = "swizzled", backend: str = "cuda") -> dict[str, Any]:
    return dict(tokens=tokens, hidden=hidden, layout=layout, backend=backend)


CASES = [
    *(_case(tokens, hidden) for hidden in _HIDDEN for tokens in _shapes.TOKENS),
    *(_case(128, hidden, layout) for layout in ("linear", "8x4") for hidden in _HIDDEN),
    *(_case(tokens, _shapes.DEEPSEEK_HIDDEN, backend="cute-dsl") for tokens in (1, 128, 8192)),
]


def inputs(*, seed: int = 0, tokens: int, hidden: int, layout: str, backend: str) -> dict[str, Any]:
    drawn = _draw.normal(_draw.generator(seed), tokens, hidden, dtype="bfloat16")
    return dict(x=_mx.off_the_border(drawn, _mx.FP4), layout=layout, backend=backend)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    asked = dict(a=inputs["x"], backend=inputs["backend"])
    if "sfLayout" in inspect.signature(function).parameters:
        asked["sfLayout"] = _block_scales.layout_of_the_library(inputs["layout"])
    elif inputs["layout"] != "swizzled":
        raise NotImplementedError("this version's mxfp4_quantize takes no sfLayout: it is swizzled")
    return lambda: function(**asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return {**inputs, "x": inputs["x"][:tokens]}


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = result
    return {"dequantized": _mx.stored_fp4(codes, scales, inputs["layout"])}


def raw(result: Any) -> list[Any]:
    return list(result)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"dequantized": _fp4.mx_dequantize(*_fp4.mx_quantize(inputs["x"].float()))}


def cost(*, tokens: int, hidden: int, layout: str, backend: str) -> dict[str, Any]:
    """Each value read once, each code and scale written once; the padding of tiles is not counted."""
    values = tokens * hidden
    return dict(bytes=2 * values + values // 2 + values // _mx.GROUP, flops=values, unit="fp32")
