"""mxfp4_quantize and mxfp8_quantize: answers, layouts, calls; their scales are powers of two."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from workbench.kernels import _fp4, _mx, fp4_quantize, mxfp4_quantize, mxfp8_quantize

torch = pytest.importorskip("torch")

KERNELS = (mxfp4_quantize, mxfp8_quantize)
LAYOUTS = ("swizzled", "linear", "8x4")
CASE = dict(tokens=12, hidden=192, backend="cuda")
EARLY4, EARLY8 = (
    "a, backend='cuda', enable_pdl=None",
    (
        "input, is_sf_swizzled_layout=True, alignment=32, enable_pdl=None, backend='cuda', sf_swizzle_layout=None"
    ),
)
PARAMETERS = {  # as the wheels have them
    (mxfp4_quantize, "0.6.8.post1"): EARLY4,
    (mxfp4_quantize, "0.6.16"): f"{EARLY4}, sfLayout=0",
    (mxfp4_quantize, "0.7.4"): "a, backend='auto', enable_pdl=None, sfLayout=0, *, batch_invariant=False",
    (mxfp8_quantize, "0.6.8.post1"): EARLY8,
    (mxfp8_quantize, "0.7.4"): EARLY8.replace("'cuda'", "'auto'") + ", *, batch_invariant=False",
}


@pytest.fixture(autouse=True)
def library(monkeypatch):
    module = ModuleType("flashinfer")
    module.SfLayout = SimpleNamespace(layout_128x4="128x4", layout_8x4="8x4", layout_linear="linear")
    monkeypatch.setitem(sys.modules, "flashinfer", module)


@pytest.fixture
def computed(placed):
    """Codes and scales by another way than the reference's: group by group in Python's own numbers."""

    def made(kernel, inputs, mutation=lambda codes, scales: (codes, scales)):
        largest = 6.0 if kernel is mxfp4_quantize else 448.0
        rows, scales = [], []
        for row in inputs["x"].float().tolist():
            groups = [row[start : start + 32] for start in range(0, len(row), 32)]
            powers = [power_for(max(map(abs, group)), largest) for group in groups]
            scales.append([power + 127 for power in powers])
            pairs = zip(groups, powers, strict=True)
            rows.append([value * 2.0**-power for group, power in pairs for value in group])
        values, scales = torch.tensor(rows), torch.tensor(scales, dtype=torch.uint8)
        codes = _fp4.pack(_fp4.encode(values)) if largest == 6 else values.to(torch.float8_e4m3fn)
        codes, scales = mutation(codes, scales)
        return codes, placed(scales, inputs["layout"])

    return made


def power_for(magnitude, largest):
    power = -127
    while magnitude > largest * 2.0**power:
        power += 1
    return power


def one_scale_of_two(codes, scales):
    scales = scales.clone()
    scales[3, 4] += 1
    return codes, scales


def shifted_scales(codes, scales):
    return codes, scales.roll(1, dims=-1)


def scales_of_another_row(codes, scales):
    return codes, scales.roll(1, dims=0)


def never_written(codes, scales):
    return torch.full_like(codes.view(torch.uint8), 0xFF), torch.full_like(scales, 0xFF)


def stale_row(codes, scales):
    codes = codes.clone()
    codes[2] = codes[1]
    return codes, scales


def lost_group(codes, scales):
    codes = codes.view(torch.uint8).clone()
    codes[2, -16:] = 0
    return codes, scales


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_perfect_answer_is_right_in_every_layout(right, computed, kernel, layout):
    inputs = kernel.inputs(**CASE, layout=layout)
    assert right(kernel, kernel.outputs(computed(kernel, inputs), inputs), inputs)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "mutation",
    [one_scale_of_two, shifted_scales, scales_of_another_row, never_written, stale_row, lost_group],
)
def test_a_wrong_answer_is_wrong(right, computed, kernel, mutation):
    inputs = kernel.inputs(**CASE, layout="swizzled")
    assert not right(kernel, kernel.outputs(computed(kernel, inputs, mutation), inputs), inputs)


def test_one_code_off_by_one_is_wrong_in_mxfp4(right, computed):
    def one_code(codes, scales):
        codes = codes.clone()
        codes[4, 7] ^= 1
        return codes, scales

    inputs = mxfp4_quantize.inputs(tokens=12, hidden=7168, layout="linear", backend="cuda")
    got = mxfp4_quantize.outputs(computed(mxfp4_quantize, inputs, one_code), inputs)
    assert not right(mxfp4_quantize, got, inputs)


def test_cutting_off_instead_of_rounding_is_wrong_in_mxfp8(right):
    inputs = mxfp8_quantize.inputs(**CASE, layout="linear")
    x = inputs["x"].float()
    bits = x.bfloat16().view(torch.int16) & ~0xF  # three bits of the significand stay
    assert not right(mxfp8_quantize, {"dequantized": bits.view(torch.bfloat16).float()}, inputs)


def test_ties_in_mxfp8_may_go_either_way(right):
    inputs = mxfp8_quantize.inputs(tokens=64, hidden=2880, layout="linear", backend="cuda")
    nudged = {**inputs, "x": inputs["x"].float() * (1 + 2e-7)}
    got = mxfp8_quantize.reference(nudged)
    assert not torch.equal(got["dequantized"], mxfp8_quantize.reference(inputs)["dequantized"])
    assert right(mxfp8_quantize, got, inputs)


@pytest.mark.parametrize(
    "kernel, largest, more",
    [(mxfp4_quantize, 6.0, {}), (mxfp8_quantize, 448.0, {}), (fp4_quantize, 6.0, dict(format="mxfp4"))],
)
def test_no_input_lies_where_one_over_the_largest_decides(kernel, largest, more):
    inputs = kernel.inputs(tokens=64, hidden=2880, layout="linear", backend="cuda", **more)
    x = inputs["x"].double().abs()
    for off in (1 - 1e-6, 1 + 1e-6):
        grouped = x.unflatten(-1, (-1, 32))
        assert torch.equal(_fp4.mx_exponents(grouped * off, largest), _fp4.mx_exponents(grouped, largest))
    assert float(x.std()) > 0.5 and _mx.off_the_border(torch.tensor([1.5, 3.0, 1.75]), 6.0).tolist() != [1.5]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kernel, version", PARAMETERS)
def test_the_call_fits_the_version(recording, kernel, version, layout):
    function = recording(PARAMETERS[kernel, version], answer=("codes", "scales"))
    inputs = kernel.inputs(**CASE, layout=layout)
    if (kernel, version) == (mxfp4_quantize, "0.6.8.post1") and layout != "swizzled":
        with pytest.raises(NotImplementedError, match="sfLayout"):
            kernel.prepare(function, inputs)
        return
    assert kernel.raw(kernel.prepare(function, inputs)()) == ["codes", "scales"]
    got, name = function.got, {"swizzled": "128x4"}.get(layout, layout)
    assert got["backend"] == "cuda" and got["a" if "a" in got else "input"] is inputs["x"]
    if kernel is mxfp4_quantize:
        assert got.get("sfLayout") == (None if version == "0.6.8.post1" else name)
    else:
        assert got.get("sf_swizzle_layout") == ("8x4" if layout == "8x4" else None)
        assert got["is_sf_swizzled_layout"] == (layout != "linear") and got["alignment"] == 32


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_cost_of_a_known_case(kernel):
    codes = {mxfp4_quantize: 0.5, mxfp8_quantize: 1}[kernel]
    bytes_ = kernel.cost(tokens=128, hidden=2880, layout="8x4", backend="cuda")["bytes"]
    assert bytes_ == 128 * 2880 * (2 + codes + 1 / 32)
