"""Four-bit floats (e2m1) by our own code, so that no library judges itself.

A code is a sign bit and an index into GRID; two codes a byte, the even column in the low half.
"""

import math
from typing import Any

GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
# A code grows where the magnitude is above these. Halfway is a tie and goes to the even code, so that every
# second border, those of _UPWARD, must lie just below its halfway point.
_HALFWAY = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)
_UPWARD = (0.75, 1.75, 3.5)
GROUP = 32  # values that share one power of two in the mx formats


def encode(scaled: Any) -> Any:
    """Codes 0 to 15 (uint8) of float32 values on the grid's own scale; above 6 is 6."""
    import torch

    borders = torch.tensor(_HALFWAY, device=scaled.device)
    below = torch.nextafter(borders, torch.zeros_like(borders))
    upward = torch.tensor([each in _UPWARD for each in _HALFWAY], device=scaled.device)
    codes = torch.bucketize(scaled.abs(), torch.where(upward, below, borders), out_int32=True).to(torch.uint8)
    return codes | (torch.signbit(scaled).to(torch.uint8) << 3)


def decode(codes: Any) -> Any:
    """Float32 values of codes 0 to 15."""
    import torch

    table = torch.tensor([*GRID, *(-value for value in GRID)], device=codes.device)
    return table[codes.int()]


def pack(codes: Any) -> Any:
    """[..., n] codes to [..., n/2] bytes."""
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(packed: Any) -> Any:
    """[..., n/2] bytes to [..., n] codes."""
    import torch

    return torch.stack((packed & 15, packed >> 4), dim=-1).flatten(-2)


def mx_quantize(values: Any) -> tuple[Any, Any]:
    """Float32 [..., n] to packed codes [..., n/2] and exponents uint8 [..., n/32], of 2 ** (exponent - 127).

    The scale is the smallest power of two that keeps the group within 6, so that nothing is cut off.
    """
    import torch

    grouped = values.unflatten(-1, (-1, GROUP))
    exponent = mx_exponents(grouped, GRID[-1])
    codes = encode(grouped / power_of_two(exponent).unsqueeze(-1))
    return pack(codes.flatten(-2)), (exponent + 127).to(torch.uint8)


def mx_exponents(grouped: Any, largest: float) -> Any:
    """The smallest e with all of a group within largest * 2 ** e: float32 [..., 32] to int [...]."""
    import torch

    part, exponent = torch.frexp(grouped.abs().amax(dim=-1) / largest)
    return torch.where(part == 0.5, exponent - 1, exponent).clamp(-126, 127)


def mx_dequantize(packed: Any, exponents: Any) -> Any:
    """The float32 values that `mx_quantize` stored, exactly."""
    grouped = decode(unpack(packed)).unflatten(-1, (-1, GROUP))
    return (grouped * power_of_two(exponents.int() - 127).unsqueeze(-1)).flatten(-2)


def power_of_two(exponent: Any) -> Any:
    """Float32 2 ** exponent, for -126 to 127; by its bits, exact on every device, which exp2 need not be."""
    import torch

    return ((exponent.int() + 127) << 23).view(torch.float32)


def mx_bytes(values: int) -> int:
    """Bytes of that many values with their scales."""
    return values // 2 + math.ceil(values / GROUP)
