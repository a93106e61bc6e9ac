"""A gpt-oss expert layer: mxfp4 weights, biases, swiglu with a limit; rows as they are or rounded to mxfp8.

Weights are e2m1 with a power of two for each 32 columns: `first`, `second` uint8 [..., columns/2], `first_scales`,
`second_scales` uint8 [..., columns/32]; `first_bias` and `second_bias` are bfloat16.
"""

from collections.abc import Callable
from typing import Any

from . import _draw, _experts, _fp4, _fp8, _layouts

ACCUMULATED_STD = 3.0  # of the first products: about one in fifty then meets the limit of 7
NAMES = ("first", "first_scales", "second", "second_scales", "first_bias", "second_bias")


def weights(source: Any, experts: int, hidden: int, intermediate: int, multiple: int) -> dict[str, Any]:
    """Of the model's shapes, with zeros up to a multiple of `multiple` in both."""

    def draw() -> tuple[Any, ...]:
        std = ACCUMULATED_STD
        up, gate = (_padded(source, intermediate, hidden, std, multiple) for _ in range(2))
        second = _padded(source, hidden, intermediate, 1.0, multiple)
        sizes = (intermediate, intermediate, hidden)
        up_bias, gate_bias, bias = (_layouts.padded(_draw.normal(source, size), multiple) for size in sizes)
        first = _fp4.mx_quantize(_joined(up, gate))
        return (*first, *_fp4.mx_quantize(second), _joined(up_bias, gate_bias).bfloat16(), bias.bfloat16())

    return dict(zip(NAMES, _experts.stacked(experts, draw)))  # noqa: B905


def _padded(source: Any, rows: int, columns: int, std: float, multiple: int) -> Any:
    return _layouts.padded(_draw.normal(source, rows, columns, std=std * columns**-0.5), multiple, rows=True)


def _joined(up: Any, gate: Any) -> Any:
    import torch

    return torch.cat((up, gate))


def layer(inputs: dict[str, Any], middle: Callable[[Any], Any]) -> Callable[[int, Any], Any]:
    """One expert in float32, for `_experts.mixed`; `middle` rounds what is between the two products."""

    def product(rows: Any, name: str, expert: int) -> Any:
        weight = _fp4.mx_dequantize(inputs[name][expert], inputs[f"{name}_scales"][expert])
        return rows @ weight.T + inputs[f"{name}_bias"][expert].float()

    return lambda expert, rows: product(
        middle(_experts.limited_swiglu(product(rows, "first", expert))), "second", expert
    )


def weight_bytes(hidden: int, intermediate: int) -> int:
    """What the model has of an expert; the padding is not counted."""
    return _fp4.mx_bytes(3 * hidden * intermediate) + 2 * (2 * intermediate + hidden)


def fp8_rows(values: Any) -> tuple[Any, Any]:
    """mxfp8: e4m3 [rows, columns] and exponents uint8 [rows, columns/32] of float32 values."""
    import torch

    grouped = values.unflatten(-1, (-1, _fp4.GROUP))
    exponents = _fp4.mx_exponents(grouped, _fp8.LARGEST)
    codes = _fp8.rounded(grouped / _fp4.power_of_two(exponents).unsqueeze(-1)).flatten(-2)
    return codes, (exponents + 127).to(torch.uint8)


def of_fp8_rows(codes: Any, exponents: Any) -> Any:
    """The float32 values that `fp8_rows` stored."""
    grouped = codes.float().unflatten(-1, (-1, _fp4.GROUP))
    return (grouped * _fp4.power_of_two(exponents.int() - 127).unsqueeze(-1)).flatten(-2)
