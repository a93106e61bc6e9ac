"""Where a quantiser puts the scales of its groups: `linear`, or padded and in tiles of 128x4 or 8x4.

`swizzled` has rows padded to 128 and columns to 4, in the order [rows/128, columns/4, 32, 4, 4]; `8x4` has rows
padded to 8 and columns to 4, in the order [rows/8, columns/4, 8, 4]. The padding is not looked at.
"""

from typing import Any

from . import _shapes

LAYOUTS = ("swizzled", "linear", "8x4")
_TILE_ROWS = {"swizzled": 128, "8x4": 8}


def ordered(stored: Any, rows: int, columns: int, layout: str) -> Any:
    """Bytes [rows, columns] of the scales as the call stored them."""
    flat = as_bytes(stored).reshape(-1)
    if layout == "linear":
        return flat[: rows * columns].reshape(rows, columns)
    tile, wide = _TILE_ROWS[layout], _shapes.up_to(columns, 4)
    padded = _shapes.up_to(rows, tile)
    # In a tile of 128 rows, rows r, r + 32, r + 64 and r + 96 lie side by side.
    inner = (32, 4, 4) if tile == 128 else (8, 1, 4)
    tiles = flat[: padded * wide].reshape(padded // tile, wide // 4, *inner)
    return tiles.permute(0, 3, 2, 1, 4).reshape(padded, wide)[:rows, :columns].contiguous()


def as_bytes(tensor: Any) -> Any:
    import torch

    return tensor.contiguous().view(torch.uint8)


def layout_of_the_library(layout: str) -> Any:
    """FlashInfer's own name of it."""
    import importlib

    known = importlib.import_module("flashinfer").SfLayout
    return {"swizzled": known.layout_128x4, "linear": known.layout_linear, "8x4": known.layout_8x4}[layout]
