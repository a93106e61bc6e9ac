import math

import pytest

from workbench.kernels import _fp4

torch = pytest.importorskip("torch")


def nearest(value):
    """By the definition: the closest value of the grid, a tie to the even code."""
    distance = [abs(abs(value) - each) for each in _fp4.GRID]
    best = [code for code, each in enumerate(distance) if each == min(distance)]
    return next((code for code in best if code % 2 == 0), best[0])


def test_values_go_to_the_nearest_code_and_ties_to_the_even_one():
    values = torch.arange(-112, 113) / 16  # -7 to 7: every grid value, every halfway point
    codes = _fp4.encode(values)
    assert [int(code) & 7 for code in codes] == [nearest(float(value)) for value in values]
    assert [int(code) >> 3 for code in codes] == [math.copysign(1, value) < 0 for value in values.tolist()]


@pytest.mark.parametrize("halfway", [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
def test_the_float_next_to_a_halfway_point_is_no_tie(halfway):
    point = torch.tensor(halfway)
    around = torch.stack((torch.nextafter(point, point * 0), torch.nextafter(point, point * 2)))
    assert _fp4.encode(around).diff().tolist() == [1]


def test_each_code_and_each_byte_comes_back():
    codes = torch.arange(16, dtype=torch.uint8)
    assert torch.equal(_fp4.encode(_fp4.decode(codes)), codes)
    packed = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(_fp4.pack(_fp4.unpack(packed[:, None])).flatten(), packed)


def test_the_even_column_is_the_low_half():
    assert _fp4.pack(torch.tensor([[1, 2]], dtype=torch.uint8)).tolist() == [[0x21]]


def test_mx_keeps_the_largest_and_uses_the_smallest_such_scale():
    values = torch.zeros(4, 32)
    values[:, 3] = torch.tensor([6.0, 6.1, 3.0, -12.0])
    packed, exponents = _fp4.mx_quantize(values)
    assert exponents.flatten().tolist() == [127, 128, 126, 128]
    back = _fp4.mx_dequantize(packed, exponents)[:, 3]
    assert back.tolist() == [6.0, 6.0, 3.0, -12.0]


def test_mx_is_off_by_no_more_than_half_a_step():
    values = torch.randn(8, 96, generator=torch.Generator().manual_seed(3))
    packed, exponents = _fp4.mx_quantize(values)
    scale = torch.exp2(exponents.float() - 127).repeat_interleave(32, dim=-1)
    off = (_fp4.mx_dequantize(packed, exponents) - values).abs()
    assert bool((off <= scale).all())  # the widest step, 4 to 6, is 2 scales
    assert packed.shape == (8, 48) and exponents.shape == (8, 3)


def test_a_group_of_zeros_stays_zero():
    packed, exponents = _fp4.mx_quantize(torch.zeros(1, 64))
    assert _fp4.mx_dequantize(packed, exponents).tolist() == [[0.0] * 64]
