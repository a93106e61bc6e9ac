"""What the kernels of expert layers share: numbers, orders, and what a layer costs at least."""

import pytest

torch = pytest.importorskip("torch")

import expert_stand_ins as library  # noqa: E402

from workbench.kernels import (  # noqa: E402
    _block_scales,
    _experts,
    _fp8,
    _layouts,
    _mx_experts,
    _nvfp4_experts,
)


@pytest.fixture
def values():
    return torch.randn(256, 256, generator=torch.Generator().manual_seed(5)) * 3


def test_tiles_are_where_the_sources_say_and_their_padding_is_zero():
    scales = torch.randint(1, 256, (2, 130, 6), dtype=torch.uint8)
    stored = _layouts.swizzled(scales)
    assert stored.shape == (2, 256, 8)
    for one, tiles in zip(scales, stored, strict=True):
        assert torch.equal(library.from_tiles(tiles, 130, 6), one)
        assert torch.equal(_block_scales.ordered(tiles, 130, 6, "swizzled"), one)
        assert int((tiles == 0).sum()) == 256 * 8 - 130 * 6


def test_rows_of_up_and_gate_in_turns():
    first = torch.arange(12).view(1, 12, 1)
    assert _layouts.interleaved(first, 2).flatten().tolist() == [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]


def test_one_scale_uses_all_of_e4m3_and_is_off_by_half_a_step(values):
    codes, scale = _fp8.one_scale(values)
    assert float(codes.float().abs().max()) == 448 and scale.dim() == 0
    off = (codes.float() * scale - values).abs()
    assert bool((off <= values.abs() / 16 + scale * 2**-10).all())


def test_a_scale_for_each_block(values):
    values[:128, 128:] *= 100
    codes, scales = _fp8.blocks(values)
    assert scales.shape == (2, 2) and scales[0, 1] > 20 * scales.flatten()[[0, 2, 3]].max()
    off = (_fp8.of_blocks(codes, scales) - values).abs()
    assert bool((off <= values.abs() / 16 + scales.max() * 2**-10).all())


def test_a_scale_for_each_128_columns_and_no_trouble_with_zeros(values):
    values[3, :128] = 0
    off = (_fp8.by_groups(values) - values).abs()
    assert bool((off <= values.abs() / 16 + 1e-4).all()) and not off[3, :128].any()


def test_what_is_beyond_the_largest_becomes_the_largest():
    assert _fp8.rounded(torch.tensor([500.0, -1e6])).float().tolist() == [448, -448]


def test_mxfp8_is_the_nearest_on_the_smallest_scale_that_holds(values):
    codes, exponents = _mx_experts.fp8_rows(values)
    assert torch.equal(_mx_experts.of_fp8_rows(codes, exponents), library.to_mxfp8(values))
    assert exponents.dtype == torch.uint8 and exponents.shape == (256, 8)


def test_nvfp4_is_the_nearest(values):
    packed, scales, global_scale = _nvfp4_experts.rows(values)
    got = _nvfp4_experts.values(packed, scales, global_scale)
    largest = 448 * 6 / float(global_scale)
    wanted = library.to_nvfp4(values.clamp(-largest, largest), global_scale)
    off = ~torch.isclose(got, wanted, rtol=1e-4)
    assert float(off.float().mean()) < 1e-3, "ties, where distances are rounded otherwise"


def test_a_gpt_oss_layer_meets_its_limit():
    products = torch.tensor([[9.0, -9.0, 0.5, 8.0, 8.0, -20.0]])  # up, then gate
    limit = torch.tensor(7.0)
    wanted = library.gpt_oss(torch.tensor(1.702), torch.tensor(1.0), limit)(products)
    assert torch.allclose(_experts.limited_swiglu(products), wanted)
    assert wanted[0, 0] == pytest.approx(7 * 8, abs=1e-3) and wanted[0, 1] == pytest.approx(7 * -6, abs=1e-3)


def test_about_one_product_in_fifty_meets_the_limit():
    source = torch.Generator().manual_seed(0)
    made = _mx_experts.weights(source, 2, 256, 256, 128)
    weight = torch.stack(
        [_mx_experts._fp4.mx_dequantize(made["first"][e], made["first_scales"][e]) for e in (0, 1)]
    )
    products = torch.randn(64, 256, generator=source) @ weight.transpose(1, 2)
    assert 0.005 < float((products.abs() > 7).float().mean()) < 0.05


def test_a_token_without_an_expert_here_gets_zeros():
    x, chosen = torch.ones(3, 4), torch.tensor([[0, 5], [1, 4], [6, 7]])
    gates = torch.tensor([[0.25, 0.75]] * 3)
    got = _experts.mixed(x, chosen, gates, range(4, 6), lambda expert, rows: rows * (expert + 1))
    assert got[:, 0].tolist() == [1.5, 0.75, 0]


def test_the_least_that_a_share_moves():
    cost = _experts.cost(
        [(0, 5), (1, 4), (6, 7)],
        range(4, 6),
        hidden=8,
        intermediate=16,
        weight_bytes=1000,
        row_bytes=10,
        unit="fp8",
    )
    # Two experts; x of two tokens; two gates; six expert numbers; three rows of the answer.
    assert cost == dict(bytes=2000 + 20 + 8 + 24 + 48, flops=6 * 2 * 8 * 16, unit="fp8")
