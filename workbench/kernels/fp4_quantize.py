"""FP4 quantize: bfloat16 rows to nvfp4, which is e2m1 codes with an e4m3 scale for each 16 columns.

The call gives codes uint8 [tokens, hidden/2], the even column in the low half, and scales. `layout`:
`linear` scales are [tokens, hidden/16]; `swizzled` ones are padded to 128 rows and 4 columns and stored
in the order [rows/128, columns/4, 32, 4, 4]. The global scale is 448 * 6 over the largest magnitude.
hidden must be a multiple of 16; from 1024 rows on FlashInfer takes another kernel if it is one of 512
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

from . import _draw, _fp4, _shapes

API = "flashinfer.fp4_quantize"
DEVICES = ("cuda",)
TOLERANCE = 3e-2
VARIES = ("x",)
SIZE = "tokens"
GROUP = 16
LARGEST_SCALE = 448.0  # of e4m3
# The largest magnitude of the input, which the global scale follows from. Its significand is prime (193), so
# that no scale lies exactly halfway between two e4m3 values, where approximate reciprocals decide at random.
LARGEST = 193 / 32
LAYOUTS = ("swizzled", "linear")
CASES = [
    dict(tokens=tokens, hidden=hidden, layout=layout)
    for layout in LAYOUTS
    for hidden in (_shapes.GPT_OSS_HIDDEN, _shapes.DEEPSEEK_HIDDEN)
    for tokens in _shapes.TOKENS
]


def inputs(*, seed: int = 0, tokens: int, hidden: int, layout: str) -> dict[str, Any]:
    import torch

    x = _draw.normal(_draw.generator(seed), tokens, hidden).clamp(-LARGEST, LARGEST)
    x[seed % tokens, seed % hidden] = LARGEST
    global_scale = torch.full((1,), LARGEST_SCALE * _fp4.GRID[-1] / LARGEST, device=x.device)
    return dict(x=x.bfloat16(), global_scale=global_scale, layout=layout)


def prepare(function: Any, inputs: dict[str, Any]) -> Any:
    asked = dict(
        input=inputs["x"],
        global_scale=inputs["global_scale"],
        sf_vec_size=GROUP,
        sf_use_ue8m0=False,
        is_sf_swizzled_layout=inputs["layout"] == "swizzled",
        is_sf_8x4_layout=False,
    )
    known = inspect.signature(function).parameters
    # Pinned, for a later version's default is another kernel than an earlier one's.
    pinned = dict(backend="cuda", is_global_scale_inversed=False)
    asked.update({name: value for name, value in pinned.items() if name in known})
    return lambda: function(**asked)


def part(inputs: dict[str, Any], tokens: int) -> dict[str, Any]:
    return {**inputs, "x": inputs["x"][:tokens]}


def outputs(result: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    tokens, hidden = inputs["x"].shape
    codes, scales = result
    rows = stored_scales(scales, tokens, hidden // GROUP, inputs["layout"])
    return {"dequantized": dequantized(_fp4.unpack(_bytes(codes)), rows, inputs["global_scale"])}


def raw(result: Any) -> list[Any]:
    return list(result)


def reference(inputs: dict[str, Any]) -> dict[str, Any]:
    codes, scales = quantized(inputs["x"].float(), inputs["global_scale"])
    return {"dequantized": dequantized(codes, scales, inputs["global_scale"])}


def cost(*, tokens: int, hidden: int, layout: str) -> dict[str, Any]:
    """Each value read once, each code and scale written once; the padding of `swizzled` is not counted."""
    values = tokens * hidden
    return dict(bytes=2 * values + values // 2 + values // GROUP + 4, flops=values, unit="fp32")


def quantized(x: Any, global_scale: Any) -> tuple[Any, Any]:
    """Codes [tokens, hidden] and float32 scales [tokens, hidden/16], each scale a value that e4m3 has."""
    import torch

    grouped = x.unflatten(-1, (-1, GROUP))
    wanted = grouped.abs().amax(dim=-1) / _fp4.GRID[-1] * global_scale
    scales = wanted.clamp(max=LARGEST_SCALE).to(torch.float8_e4m3fn).float()
    factor = torch.where(scales > 0, global_scale / scales, 0.0)
    return _fp4.encode(grouped * factor.unsqueeze(-1)).flatten(-2), scales


def dequantized(codes: Any, scales: Any, global_scale: Any) -> Any:
    grouped = _fp4.decode(codes).unflatten(-1, (-1, GROUP))
    return (grouped * (scales / global_scale).unsqueeze(-1)).flatten(-2)


def stored_scales(stored: Any, tokens: int, columns: int, layout: str) -> Any:
    """Float32 [tokens, columns] of the scales as the call stored them."""
    import torch

    flat = _bytes(stored).reshape(-1)
    if layout == "linear":
        ordered = flat[: tokens * columns].reshape(tokens, columns)
    else:
        ordered = _unswizzled(flat, _shapes.up_to(tokens, 128), _shapes.up_to(columns, 4))
    return ordered[:tokens, :columns].contiguous().view(torch.float8_e4m3fn).float()


def _unswizzled(flat: Any, rows: int, columns: int) -> Any:
    tiles = flat[: rows * columns].reshape(rows // 128, columns // 4, 32, 4, 4)
    return tiles.permute(0, 3, 2, 1, 4).reshape(rows, columns)


def _bytes(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().view(torch.uint8)
