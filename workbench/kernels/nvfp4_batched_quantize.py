"""NVFP4 quantize of a batch: bfloat16 [batch, tokens, hidden], each of the batch with tiles of its own.

The call gives codes uint8 [batch, tokens, hidden/2] and, for each of the batch, e4m3 scales in tiles of 128x4
(`_block_scales`); one global scale for all, 448 * 6 over the largest magnitude. Beside it `fp4_quantize` with
`batch` takes the same values as batch * tokens rows, whose tiles run on from one of the batch to the next.

TOLERANCE and what it misses: as in fp4_quantize.py, for the arithmetic is the same.
On GPUs before SM100 several versions return without having written anything: that is found wrong.
Source: flashinfer/quantization/fp4_quantization.py.
"""

from typing import Any

from . import _nvfp4, _shapes

API = "flashinfer.nvfp4_batched_quantize"
DEVICES = ("cuda",)
TOLERANCE = 3e-2
VARIES = ("x",)
CASES = [
    dict(batch=batch, tokens=tokens, hidden=_shapes.DEEPSEEK_HIDDEN)
    for batch, tokens in ((1, 128), (2, 100), (8, 16), (8, 1024))
]


def inputs(*, seed: int = 0, batch: int, tokens: int, hidden: int) -> dict[str, Any]:
    x, global_scale = _nvfp4.inputs(seed, batch * tokens, hidden)
    return dict(x=x.unflatten(0, (batch, tokens)), global_scale=global_scale)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    return lambda: function(a=inputs["x"], a_global_sf=inputs["global_scale"], sf_vec_size=_nvfp4.GROUP)


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    import torch

    pairs = zip(*result)  # noqa: B905
    scale, layout = inputs["global_scale"], "swizzled"
    stored = [_nvfp4.stored_values(codes, scales, scale, layout) for codes, scales in pairs]
    return {"dequantized": torch.stack(stored)}


def raw(result: Any) -> list[Any]:
    return list(result)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = _nvfp4.quantized(inputs["x"].float(), inputs["global_scale"])
    return {"dequantized": _nvfp4.dequantized(codes, scales, inputs["global_scale"])}


def cost(*, batch: int, tokens: int, hidden: int) -> dict[str, Any]:
    """Each value read once, each code and scale written once; the padding of tiles is not counted."""
    values = batch * tokens * hidden
    return dict(bytes=2 * values + values // 2 + values // _nvfp4.GROUP + 4, flops=values, unit="fp32")
