import pytest

from workbench.kernels import _fp4, _nvfp4, fp4_quantize

torch = pytest.importorskip("torch")

CASE = dict(tokens=5, hidden=128)
LAYOUTS = fp4_quantize.LAYOUTS


@pytest.fixture
def perfect(placed):
    """What a call without a fault gives, and the pieces of it."""

    def made(inputs, mutation=lambda codes, scales: (codes, scales), layout=None):
        x = inputs["x"].float().flatten(0, -2)
        if inputs["format"] == "mxfp4":
            codes, scales = _fp4.mx_quantize(x)
        else:
            codes, scales = _nvfp4.quantized(x, inputs["global_scale"])
            codes, scales = _fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8)
        codes, scales = mutation(codes, scales)
        return codes.reshape(*inputs["x"].shape[:-1], -1), placed(scales, layout or inputs["layout"])

    return made


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tokens, hidden", [(1, 64), (5, 128), (130, 2880)])
def test_a_perfect_answer_is_right_in_every_layout(right, perfect, tokens, hidden, layout):
    inputs = fp4_quantize.inputs(tokens=tokens, hidden=hidden, layout=layout)
    assert right(fp4_quantize, fp4_quantize.outputs(perfect(inputs), inputs), inputs)


@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("asked", LAYOUTS)
@pytest.mark.parametrize("got", LAYOUTS)
def test_scales_in_another_layout_than_asked_for_are_wrong(right, perfect, asked, got, format):
    inputs = fp4_quantize.inputs(tokens=128, hidden=256, layout=asked, format=format)
    result = perfect(inputs, layout=got)
    assert right(fp4_quantize, fp4_quantize.outputs(result, inputs), inputs) == (asked == got)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("more", [dict(format="mxfp4"), dict(batch=3), dict(inversed=True)], ids=str)
def test_a_perfect_answer_is_right_in_every_form(right, perfect, more, layout):
    inputs = fp4_quantize.inputs(**CASE, layout=layout, **more)
    assert right(fp4_quantize, fp4_quantize.outputs(perfect(inputs), inputs), inputs)


def test_mxfp4_taken_for_nvfp4_is_wrong(right, perfect):
    inputs = fp4_quantize.inputs(**CASE, layout="linear", format="mxfp4")
    codes, scales = perfect({**fp4_quantize.inputs(**CASE, layout="linear"), "x": inputs["x"]})
    assert not right(fp4_quantize, fp4_quantize.outputs((codes, scales[:, ::2]), inputs), inputs)


def test_a_part_of_a_batch_is_contiguous_and_in_the_same_memory(right, perfect):
    whole = fp4_quantize.inputs(**CASE, layout="swizzled", batch=3)
    part = fp4_quantize.part(whole, 2)
    assert part["x"].shape == (3, 2, 128) and part["x"].is_contiguous()
    assert part["x"].data_ptr() == whole["x"].data_ptr()
    assert right(fp4_quantize, fp4_quantize.outputs(perfect(part), part), part)


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
def test_a_wrong_answer_is_wrong(right, perfect, mutation, layout):
    inputs = fp4_quantize.inputs(**CASE, layout=layout)
    result = perfect(inputs, mutation)
    assert not right(fp4_quantize, fp4_quantize.outputs(result, inputs), inputs)


def test_cutting_off_instead_of_rounding_is_wrong(right):
    inputs = fp4_quantize.inputs(**CASE, layout="linear")
    x = inputs["x"].float()
    _, scales = _nvfp4.quantized(x, inputs["global_scale"])
    scaled = x.unflatten(-1, (-1, 16)) * (inputs["global_scale"] / scales).unsqueeze(-1)
    below = torch.bucketize(scaled.abs(), torch.tensor(_fp4.GRID[1:]), right=True).to(torch.uint8)
    codes = (below | (torch.signbit(scaled).to(torch.uint8) << 3)).flatten(-2)
    result = _fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8)
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
    codes = _fp4.encode(grouped * factor.unsqueeze(-1)).flatten(-2)
    return _fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8)


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


def test_the_cost_of_other_forms_counts_their_scales_and_their_batch():
    case = dict(tokens=2048, hidden=8192, layout="linear")
    values, nvfp4 = 2048 * 8192, fp4_quantize.cost(**case)["bytes"]
    assert fp4_quantize.cost(**case, format="mxfp4")["bytes"] == nvfp4 - values // 32 - 4
    assert fp4_quantize.cost(**case, batch=3)["bytes"] == 3 * (nvfp4 - 4) + 4
