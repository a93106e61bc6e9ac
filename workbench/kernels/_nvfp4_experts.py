"""An expert layer in nvfp4, weights, rows and the middle: e2m1, an e4m3 scale for each 16 columns, one global scale.

`first`, `second`, `x` uint8 [..., columns/2]; `first_scales`, `second_scales` and those of the rows uint8
[..., columns/16], bytes of e4m3. Global scales are 448 * 6 over the largest magnitude: `first_global` and
`second_global` float32 [experts], `x_global` and `middle_global` float32 without a dimension.
"""

from collections.abc import Callable
from typing import Any

from . import _draw, _experts, _fp4, _nvfp4

MIDDLE_LARGEST = 48.0  # the middle is about 3, seldom beyond 30
NAMES = ("first", "first_scales", "first_global", "second", "second_scales", "second_global")


def weights(source: Any, experts: int, hidden: int, intermediate: int) -> dict[str, Any]:
    def draw() -> tuple[Any, ...]:
        first = _draw.normal(source, 2 * intermediate, hidden, std=2 * hidden**-0.5) * _experts.spread(source)
        second = _draw.normal(source, hidden, intermediate, std=intermediate**-0.5) * _experts.spread(source)
        return (*_stored(first, first.abs().amax()), *_stored(second, second.abs().amax()))

    return dict(zip(NAMES, _experts.stacked(experts, draw)))  # noqa: B905


def rows(values: Any) -> tuple[Any, Any, Any]:
    """x, its scales and global scale; `values` are cut off at `_nvfp4.LARGEST`, so that the last is always the same."""
    import torch

    largest = torch.full((), _nvfp4.LARGEST, device=values.device)
    return _stored(values.clamp(-_nvfp4.LARGEST, _nvfp4.LARGEST), largest)


def middle_global(device: Any) -> Any:
    import torch

    return torch.full((), _nvfp4.LARGEST_SCALE * _fp4.GRID[-1] / MIDDLE_LARGEST, device=device)


def _stored(values: Any, largest: Any) -> tuple[Any, Any, Any]:
    import torch

    global_scale = _nvfp4.LARGEST_SCALE * _fp4.GRID[-1] / largest
    codes, scales = _nvfp4.quantized(values, global_scale)
    return _fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8), global_scale


def values(packed: Any, scales: Any, global_scale: Any) -> Any:
    """The float32 values that are stored so."""
    import torch

    return _nvfp4.dequantized(_fp4.unpack(packed), scales.view(torch.float8_e4m3fn).float(), global_scale)


def layer(inputs: dict[str, Any]) -> Callable[[int, Any], Any]:
    """One expert in float32, for `_experts.mixed`, its middle rounded to nvfp4 by `middle_global`."""

    def whole(expert: int, rows: Any) -> Any:
        middle = _experts.swiglu(product(inputs, "first", expert, rows))
        return product(inputs, "second", expert, rounded(middle, inputs["middle_global"]))

    return whole


def product(inputs: dict[str, Any], name: str, expert: int, rows: Any) -> Any:
    """Float32 rows times an expert's first or second weights."""
    return rows @ values(*(inputs[f"{name}{each}"][expert] for each in ("", "_scales", "_global"))).T


def rounded(middle: Any, global_scale: Any) -> Any:
    return _nvfp4.dequantized(*_nvfp4.quantized(middle, global_scale), global_scale)


def alphas(inputs: dict[str, Any]) -> tuple[Any, Any]:
    """What the sums of both products are multiplied with, float32 [experts] each."""
    first = 1 / (inputs["x_global"] * inputs["first_global"])
    return first, 1 / (inputs["middle_global"] * inputs["second_global"])


def stored_bytes(values: int) -> int:
    """Bytes of that many values with their scales."""
    return values // 2 + -(-values // _nvfp4.GROUP)
