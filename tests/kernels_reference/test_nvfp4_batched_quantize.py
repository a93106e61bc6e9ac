import pytest

from workbench.kernels import _fp4, _nvfp4, fp4_quantize, nvfp4_batched_quantize

torch = pytest.importorskip("torch")

CASE = dict(batch=3, tokens=5, hidden=128)


@pytest.fixture
def result(placed):
    """What a call without a fault gives: each of the batch with its own tiles."""

    def made(inputs):
        codes, scales = _nvfp4.quantized(inputs["x"].float(), inputs["global_scale"])
        raw = scales.to(torch.float8_e4m3fn).view(torch.uint8)
        return _fp4.pack(codes), torch.stack([placed(each, "swizzled").flatten() for each in raw])

    return made


def test_a_perfect_answer_is_right(right, result):
    inputs = nvfp4_batched_quantize.inputs(**CASE)
    got = nvfp4_batched_quantize.outputs(result(inputs), inputs)
    assert right(nvfp4_batched_quantize, got, inputs)


def test_tiles_that_run_on_through_the_batch_are_wrong(right, result, placed):
    inputs = nvfp4_batched_quantize.inputs(**CASE)
    codes, scales = result(inputs)
    raw = _nvfp4.quantized(inputs["x"].float(), inputs["global_scale"])[1].flatten(0, 1)
    through = placed(raw.to(torch.float8_e4m3fn).view(torch.uint8), "swizzled").flatten()
    scales[0] = through
    got = nvfp4_batched_quantize.outputs((codes, scales.roll(1, dims=0)), inputs)
    assert not right(nvfp4_batched_quantize, got, inputs)


def test_codes_and_scales_of_another_of_the_batch_are_wrong(right, result):
    inputs = nvfp4_batched_quantize.inputs(**CASE)
    codes, scales = result(inputs)
    for wrong in ((codes.roll(1, dims=0), scales), (codes, scales.roll(1, dims=0))):
        assert not right(nvfp4_batched_quantize, nvfp4_batched_quantize.outputs(wrong, inputs), inputs)


def test_the_call_fits_every_version(recording):
    inputs = nvfp4_batched_quantize.inputs(**CASE)
    for more in ("", ", nvfp4_4over6=None"):
        function = recording(f"a, a_global_sf, sf_vec_size=16{more}")
        nvfp4_batched_quantize.prepare(function, inputs)()
        assert function.got["a"] is inputs["x"] and function.got["a_global_sf"] is inputs["global_scale"]


def test_the_values_and_the_cost_are_those_of_fp4_quantize_with_a_batch():
    ours, theirs = (
        nvfp4_batched_quantize.inputs(**CASE),
        fp4_quantize.inputs(**CASE, layout="swizzled"),
    )
    assert torch.equal(ours["x"], theirs["x"]) and ours["x"].is_contiguous()
    assert nvfp4_batched_quantize.cost(**CASE) == fp4_quantize.cost(**CASE, layout="swizzled")
