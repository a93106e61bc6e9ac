"""FP4 quantize: bfloat16 rows to nvfp4, which is e2m1 codes with an e4m3 scale for each 16 columns.

The call gives codes uint8 [tokens, hidden/2], the even column in the low half, and scales in the `layout`
that `_block_scales` tells. The global scale is 448 * 6 over the largest magnitude; `inversed` hands over one
over it and says so. `format`: `mxfp4` has a power of two for each 32 columns and no global scale. `batch`:
x is [batch, tokens, hidden], which the library takes as batch * tokens rows. `backend` is `cuda` or
`cute-dsl`, always said, for a later version's default is another kernel than an earlier one's.
hidden must be a multiple of the group; from 1024 rows on FlashInfer takes another kernel if it is one of 512
(7168 is, 2880 is not).

TOLERANCE, on dequantised rows against our own quantiser: the kernel multiplies by approximate
reciprocals, so one value in 4000 (those that lie halfway) may go to the neighbouring code; emulated, the
worst of 8192 rows is then 2e-2 off. Missed: some such codes in a row, or one group of 16 that is off by
less than half. Seen: a group that was lost (98 in 100 at hidden 7168, nearly all at 2880), another
group's scale, swapped halves of a byte, values cut off instead of rounded.
On GPUs before SM100 several versions return without having written anything: that is found wrong.
Source: flashinfer/quantization/fp4_quantization.py and its quantization.cuh.
"""

import inspect
from typing import Any

from . import _block_scales, _fp4, _mx, _nvfp4, _shapes

API = "flashinfer.fp4_quantize"
DEVICES = ("cuda",)
TOLERANCE = 3e-2
VARIES = ("x",)
SIZE = "tokens"
LAYOUTS = _block_scales.LAYOUTS
_GPT_OSS, _DEEPSEEK = _shapes.GPT_OSS_HIDDEN, _shapes.DEEPSEEK_HIDDEN
_MORE = [  # what else callers ask for, beside the ladder of plain nvfp4
    *(dict(tokens=tokens, hidden=_DEEPSEEK, layout="8x4") for tokens in (1, 128)),
    dict(tokens=128, hidden=_GPT_OSS, layout="8x4"),
    *(dict(tokens=tokens, hidden=_DEEPSEEK, layout="swizzled", inversed=True) for tokens in (128, 8192)),
    *(dict(tokens=tokens, hidden=_GPT_OSS, layout="swizzled", format="mxfp4") for tokens in (128, 8192)),
    dict(tokens=1000, hidden=_DEEPSEEK, layout="linear", format="mxfp4"),
    *(dict(tokens=100, hidden=_DEEPSEEK, layout=layout, batch=2) for layout in ("swizzled", "linear")),
    *(dict(tokens=tokens, hidden=_DEEPSEEK, layout="swizzled", backend="cute-dsl") for tokens in (128, 8192)),
    dict(tokens=128, hidden=_GPT_OSS, layout="swizzled", format="mxfp4", backend="cute-dsl"),
]
CASES = [
    dict(tokens=tokens, hidden=hidden, layout=layout)
    for layout in ("swizzled", "linear")
    for hidden in (_GPT_OSS, _DEEPSEEK)
    for tokens in _shapes.TOKENS
] + _MORE


def inputs(
    *,
    seed: int = 0,
    tokens: int,
    hidden: int,
    layout: str,
    format: str = "nvfp4",
    batch: int = 1,
    inversed: bool = False,
    backend: str = "cuda",
) -> dict[str, Any]:
    x, global_scale = _nvfp4.inputs(seed, batch * tokens, hidden)
    made = dict(x=x, global_scale=global_scale, layout=layout, format=format, backend=backend)
    if format == "mxfp4":
        made.update(x=_mx.off_the_border(x, _mx.FP4), global_scale=None)
    if batch > 1:
        made.update(x=made["x"].unflatten(0, (batch, tokens)))
    return dict(made, inversed=inversed)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    mx, layout, scale = inputs["format"] == "mxfp4", inputs["layout"], inputs["global_scale"]
    asked = dict(
        input=inputs["x"],
        global_scale=1 / scale if inputs["inversed"] else scale,
        sf_vec_size=_fp4.GROUP if mx else _nvfp4.GROUP,
        sf_use_ue8m0=mx,
        is_sf_swizzled_layout=layout != "linear",
        is_sf_8x4_layout=layout == "8x4",
    )
    known = inspect.signature(function).parameters
    pinned = dict(backend=("cuda", inputs["backend"]), is_global_scale_inversed=(False, inputs["inversed"]))
    for name, (only, wanted) in pinned.items():
        if name in known:
            asked[name] = wanted
        elif wanted != only:
            raise NotImplementedError(f"this version's fp4_quantize takes no {name}")
    return lambda: function(**asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The first rows; of a batch as many as one of `tokens` each has."""
    x = inputs["x"]
    if x.dim() == 2:
        return {**inputs, "x": x[:tokens]}
    return {**inputs, "x": x.flatten(0, 1)[: len(x) * tokens].unflatten(0, (len(x), tokens))}


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = result
    if inputs["format"] == "mxfp4":
        return {"dequantized": _mx.stored_fp4(codes, scales, inputs["layout"])}
    stored = _nvfp4.stored_values(codes, scales, inputs["global_scale"], inputs["layout"])
    return {"dequantized": stored}


def raw(result: Any) -> list[Any]:
    return list(result)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    x = inputs["x"].float().flatten(0, -2)
    if inputs["format"] == "mxfp4":
        return {"dequantized": _fp4.mx_dequantize(*_fp4.mx_quantize(x))}
    codes, scales = _nvfp4.quantized(x, inputs["global_scale"])
    return {"dequantized": _nvfp4.dequantized(codes, scales, inputs["global_scale"])}


def cost(
    *,
    tokens: int,
    hidden: int,
    layout: str,
    format: str = "nvfp4",
    batch: int = 1,
    inversed: bool = False,
    backend: str = "cuda",
) -> dict[str, Any]:
    """Each value read once, each code and scale written once; the padding of tiles is not counted."""
    values = batch * tokens * hidden
    scales = values // (_fp4.GROUP if format == "mxfp4" else _nvfp4.GROUP)
    global_scale = 0 if format == "mxfp4" else 4
    return dict(bytes=2 * values + values // 2 + scales + global_scale, flops=values, unit="fp32")
