"""nvfp4 by our own code: e2m1 codes, an e4m3 scale for each 16 columns, and one global scale."""

from typing import Any

from . import _block_scales, _draw, _fp4

GROUP = 16
LARGEST_SCALE = 448.0  # of e4m3
# The largest magnitude of the input, which the global scale follows from. Its significand is prime (193), so
# that no scale lies exactly halfway between two e4m3 values, where approximate reciprocals decide at random.
LARGEST = 193 / 32


def inputs(seed: int, rows: int, hidden: int) -> tuple[Any, Any]:
    """x bfloat16 [rows, hidden] and its global scale float32 [1], 448 * 6 over the largest magnitude."""
    import torch

    x = _draw.normal(_draw.generator(seed), rows, hidden).clamp(-LARGEST, LARGEST)
    x[seed % rows, seed % hidden] = LARGEST
    return x.bfloat16(), torch.full((1,), LARGEST_SCALE * _fp4.GRID[-1] / LARGEST, device=x.device)


def quantized(x: Any, global_scale: Any) -> tuple[Any, Any]:
    """Codes [..., hidden] and float32 scales [..., hidden/16], each scale a value that e4m3 has."""
    import torch

    grouped = x.unflatten(-1, (-1, GROUP))
    wanted = grouped.abs().amax(dim=-1) / _fp4.GRID[-1] * global_scale
    scales = wanted.clamp(max=LARGEST_SCALE).to(torch.float8_e4m3fn).float()
    factor = torch.where(scales > 0, global_scale / scales, 0.0)
    return _fp4.encode(grouped * factor.unsqueeze(-1)).flatten(-2), scales


def dequantized(codes: Any, scales: Any, global_scale: Any) -> Any:
    grouped = _fp4.decode(codes).unflatten(-1, (-1, GROUP))
    return (grouped * (scales / global_scale).unsqueeze(-1)).flatten(-2)


def stored_values(codes: Any, scales: Any, global_scale: Any, layout: str) -> Any:
    """Float32 [rows, hidden] of what a call stored, codes uint8 [..., hidden/2]."""
    import torch

    codes = _fp4.unpack(_block_scales.as_bytes(codes)).flatten(0, -2)
    rows, hidden = codes.shape
    ordered = _block_scales.ordered(scales, rows, hidden // GROUP, layout)
    return dequantized(codes, ordered.view(torch.float8_e4m3fn).float(), global_scale)
