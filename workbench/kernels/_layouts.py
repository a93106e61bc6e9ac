"""Orders that kernels read weights and scales in: tiles of 128 x 4 scales, rows of up and gate in turns, padding."""

from typing import Any

from . import _shapes


def swizzled(scales: Any) -> Any:
    """Bytes [..., rows, columns] to [..., rows up to 128, columns up to 4], stored as `_block_scales` tells."""
    import torch

    rows, columns = scales.shape[-2:]
    high, wide = _shapes.up_to(rows, 128), _shapes.up_to(columns, 4)
    filled = torch.nn.functional.pad(scales, (0, wide - columns, 0, high - rows))
    tiles = filled.unflatten(-1, (-1, 4)).unflatten(
        -3, (-1, 4, 32)
    )  # [..., tile, quarter, row, tile, column]
    return tiles.movedim(-2, -4).transpose(-2, -3).reshape(*scales.shape[:-2], high, wide)


def interleaved(first: Any, block: int) -> Any:
    """First weights, or what belongs to their rows: `block` rows of up, then as many of gate, and so on."""
    return first.unflatten(1, (2, -1, block)).transpose(1, 2).flatten(1, 3).contiguous()


def padded(values: Any, multiple: int, rows: bool = False) -> Any:
    """Zeros up to a multiple behind the columns and, with `rows`, behind the rows."""
    import torch

    behind = [-size % multiple for size in values.shape]
    return torch.nn.functional.pad(values, (0, behind[-1], *((0, behind[0]) if rows else ())))
