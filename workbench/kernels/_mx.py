"""The mx formats as FlashInfer quantises to them: codes with a power of two for each 32 columns, as its exponent."""

import math
from typing import Any

from . import _block_scales, _fp4

GROUP = _fp4.GROUP
FP4, FP8 = _fp4.GRID[-1], 448.0  # the largest value of e2m1, of e4m3


def off_the_border(x: Any, largest: float) -> Any:
    """x bfloat16, and no magnitude is `largest` times a power of two: there a rounded reciprocal decides the scale."""
    import torch

    part, _ = torch.frexp(x.float().abs())
    return torch.where(part == math.frexp(largest)[0], x * 1.01, x).bfloat16()


def rounded_to_fp8(x: Any) -> Any:
    """Float32 [..., hidden] as the values that e4m3 codes with such scales have."""
    import torch

    grouped = x.unflatten(-1, (-1, GROUP))
    scale = _fp4.power_of_two(_fp4.mx_exponents(grouped, FP8)).unsqueeze(-1)
    return ((grouped / scale).to(torch.float8_e4m3fn).float() * scale).flatten(-2)


def stored_fp4(codes: Any, scales: Any, layout: str) -> Any:
    """Float32 [rows, hidden] of what a call stored, codes uint8 [..., hidden/2]."""
    codes = _block_scales.as_bytes(codes).flatten(0, -2)
    rows, half = codes.shape
    return _fp4.mx_dequantize(codes, _block_scales.ordered(scales, rows, 2 * half // GROUP, layout))


def stored_fp8(codes: Any, scales: Any, layout: str) -> Any:
    """The same of codes e4m3 [..., hidden], which may come as bytes."""
    import torch

    values = _block_scales.as_bytes(codes).view(torch.float8_e4m3fn).float().flatten(0, -2)
    rows, hidden = values.shape
    exponents = _block_scales.ordered(scales, rows, hidden // GROUP, layout).int() - 127
    return (values.unflatten(-1, (-1, GROUP)) * _fp4.power_of_two(exponents).unsqueeze(-1)).flatten(-2)
