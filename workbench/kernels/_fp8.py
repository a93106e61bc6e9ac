"""e4m3 by torch's own rounding, with one scale, one for each block of 128 x 128, or one for each 128 columns."""

from typing import Any

LARGEST = 448.0
BLOCK = 128


def rounded(scaled: Any) -> Any:
    """e4m3 of float32 values on its own scale; what is beyond 448 becomes 448."""
    import torch

    return scaled.clamp(-LARGEST, LARGEST).to(torch.float8_e4m3fn)


def one_scale(values: Any) -> tuple[Any, Any]:
    """Codes, and the float32 scale (no dimension) that brings the largest magnitude to 448."""
    scale = values.abs().amax() / LARGEST
    return rounded(values / scale), scale


def blocks(values: Any) -> tuple[Any, Any]:
    """Codes [rows, columns] and float32 scales [rows/128, columns/128]; both multiples of 128."""
    tiles = values.unflatten(1, (-1, BLOCK)).unflatten(0, (-1, BLOCK))
    scales = tiles.abs().amax(dim=(1, 3)) / LARGEST
    return rounded(tiles / scales[:, None, :, None]).flatten(2, 3).flatten(0, 1), scales


def of_blocks(codes: Any, scales: Any) -> Any:
    """The float32 values that `blocks` stored."""
    return codes.float() * scales.repeat_interleave(BLOCK, dim=0).repeat_interleave(BLOCK, dim=1)


def by_groups(values: Any) -> Any:
    """Float32 [..., columns] rounded to e4m3 with a scale for each 128 columns, as float32 again."""
    grouped = values.unflatten(-1, (-1, BLOCK))
    scales = grouped.abs().amax(dim=-1, keepdim=True).clamp(min=1e-10) / LARGEST
    return (rounded(grouped / scales).float() * scales).flatten(-2)
