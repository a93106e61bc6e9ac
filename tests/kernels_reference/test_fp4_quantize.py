import pytest

from workbench.kernels import _fp4, fp4_quantize

torch = pytest.importorskip("torch")

CASE = dict(tokens=5, hidden=128)
LAYOUTS = fp4_quantize.LAYOUTS


def stored(scales, layout):
    """Bytes of float32 scales, placed one by one by the address that the kernel's source states."""
    raw = scales.to(torch.float8_e4m3fn).view(torch.uint8)
    if layout == "linear":
        return raw
    rows, columns = -(-raw.shape[0] // 128) * 128, -(-raw.shape[1] // 4) * 4
    flat = torch.zeros(rows * columns, dtype=torch.uint8)
    for m, row in enumerate(raw.tolist()):
        for k, byte in enumerate(row):
            tile = (m // 128) * (columns // 4) + k // 4
            flat[tile * 512 + (m % 32) * 16 + (m % 128) // 32 * 4 + k % 4] = byte
    return flat.reshape(rows, columns)


def perfect(inputs):
    codes, scales = fp4_quantize.quantized(inputs["x"].float(), inputs["global_scale"])
    return _fp4.pack(codes), stored(scales, inputs["layout"])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tokens, hidden", [(1, 64), (5, 128), (130, 2880)])
def test_a_perfect_answer_is_right_in_both_layouts(right, tokens, hidden, layout):
    inputs = fp4_quantize.inputs(tokens=tokens, hidden=hidden, layout=layout)
    assert right(fp4_quantize, fp4_quantize.outputs(perfect(inputs), inputs), inputs)


def test_scales_left_linear_where_swizzled_is_asked_for_are_wrong(right):
    inputs = fp4_quantize.inputs(tokens=128, hidden=128, layout="swizzled")
    codes, _ = perfect(inputs)
    _, scales = fp4_quantize.quantized(inputs["x"].float(), inputs["global_scale"])
    result = codes, stored(scales, "linear")
    assert not right(fp4_quantize, fp4_quantize.outputs(result, inputs), inputs)


def swapped_halves(codes, scales):
    return (codes >> 4) | (codes << 4), scales


def shifted_scales(codes, scales):
    return codes, scales.roll(1, dims=-1)


def dropped_scale(codes, scales):
    return codes, torch.full_like(scales, 0x38)  # 1.0


def lost_sign(codes, scales):
    return codes & 0x77, scales


def never_written(codes, scales):
    return torch.full_like(codes, 0xFF), torch.full_like(scales, 0xFF)


def one_scale_never_written(codes, scales):
    scales = scales.clone()
    scales[0, 0] = 0xFF  # NaN as e4m3
    return codes, scales


def zeroed_row(codes, scales):
    codes = codes.clone()
    codes[2] = 0
    return codes, scales


def stale_row(codes, scales):
    codes = codes.clone()
    codes[2] = codes[1]
    return codes, scales


def zeroed_group(codes, scales):
    codes = codes.clone()
    codes[2, 8:16] = 0
    return codes, scales


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "mutation",
    [
        swapped_halves,
        shifted_scales,
        dropped_scale,
        lost_sign,
        never_written,
        one_scale_never_written,
        zeroed_row,
        stale_row,
        zeroed_group,
    ],
)
def test_a_wrong_answer_is_wrong(right, mutation, layout):
    inputs = fp4_quantize.inputs(**CASE, layout=layout)
    result = mutation(*perfect(inputs))
    assert not right(fp4_quantize, fp4_quantize.outputs(result, inputs), inputs)


def test_cutting_off_instead_of_rounding_is_wrong(right):
    inputs = fp4_quantize.inputs(**CASE, layout="linear")
    x = inputs["x"].float()
    _, scales = fp4_quantize.quantized(x, inputs["global_scale"])
    scaled = x.unflatten(-1, (-1, 16)) * (inputs["global_scale"] / scales).unsqueeze(-1)
    below = torch.bucketize(scaled.abs(), torch.tensor(_fp4.GRID[1:]), right=True).to(torch.uint8)
    codes = (below | (torch.signbit(scaled).to(torch.uint8) << 3)).flatten(-2)
    result = _fp4.pack(codes), stored(scales, "linear")
    assert not right(fp4_quantize, fp4_quantize.outputs(result, inputs), inputs)


def approximate(inputs, relative):
    """The kernel's own formula, each of its approximate reciprocals off by up to `relative`."""

    def off(value):
        return value * (1 + relative * (2 * torch.rand_like(value) - 1))

    torch.manual_seed(0)
    grouped, scale = inputs["x"].float().unflatten(-1, (-1, 16)), inputs["global_scale"]
    largest = grouped.abs().amax(dim=-1)
    scales = (scale * largest * off(torch.full_like(largest, 1 / 6))).clamp(max=448)
    scales = scales.to(torch.float8_e4m3fn).float()
    factor = off(1 / (scales * off(1 / scale.expand_as(scales))))
    return _fp4.pack(_fp4.encode(grouped * factor.unsqueeze(-1)).flatten(-2)), stored(scales, "linear")


@pytest.mark.parametrize("seed", [0, 1])
def test_approximate_reciprocals_pass(right, seed):
    inputs = fp4_quantize.inputs(seed=seed, tokens=512, hidden=2880, layout="linear")
    got = fp4_quantize.outputs(approximate(inputs, 2.4e-7), inputs)
    assert not torch.equal(got["dequantized"], fp4_quantize.reference(inputs)["dequantized"])
    assert right(fp4_quantize, got, inputs)


def test_the_inputs_are_seeded_and_the_global_scale_is_that_of_the_largest():
    one, same, other = (fp4_quantize.inputs(seed=seed, **CASE, layout="linear") for seed in (0, 0, 1))
    assert torch.equal(one["x"], same["x"]) and not torch.equal(one["x"], other["x"])
    for inputs in (one, other):
        assert float(inputs["global_scale"] * inputs["x"].abs().max()) == pytest.approx(448 * 6)


def test_the_cost_of_a_known_case():
    assert fp4_quantize.cost(tokens=2048, hidden=8192, layout="linear")["bytes"] == 42_991_620
