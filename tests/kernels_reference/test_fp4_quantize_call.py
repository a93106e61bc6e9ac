"""How fp4_quantize calls the versions, whose parameters differ."""

import pytest

from workbench.kernels import fp4_quantize

torch = pytest.importorskip("torch")

PARAMETERS = {  # as the wheels have them
    "0.6.7": "input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, "
    "is_sf_swizzled_layout=True, is_sf_8x4_layout=False, enable_pdl=None",
    "0.6.8.post1": "input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, "
    "is_sf_swizzled_layout=True, is_sf_8x4_layout=False, enable_pdl=None, backend='cuda'",
    "0.6.11.post1": "input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, "
    "is_sf_swizzled_layout=True, is_sf_8x4_layout=False, is_global_scale_inversed=False, "
    "enable_pdl=None, backend='cuda'",
    "0.7.4": "input, global_scale=None, sf_vec_size=16, sf_use_ue8m0=False, "
    "is_sf_swizzled_layout=True, is_sf_8x4_layout=False, is_global_scale_inversed=False, "
    "enable_pdl=None, backend='auto', nvfp4_4over6=None, *, batch_invariant=False",
}
INVERSE = ("0.6.11.post1", "0.7.4")


@pytest.mark.parametrize("layout", fp4_quantize.LAYOUTS)
@pytest.mark.parametrize("version", PARAMETERS)
def test_the_call_fits_the_version(recording, version, layout):
    inputs = fp4_quantize.inputs(tokens=5, hidden=128, layout=layout)
    answer = torch.zeros(5, 64, dtype=torch.uint8), torch.zeros(5, 8, dtype=torch.uint8)
    function = recording(PARAMETERS[version], answer)
    result = fp4_quantize.prepare(function, inputs)()
    assert function.got["input"] is inputs["x"] and function.got["global_scale"] is inputs["global_scale"]
    assert function.got["is_sf_swizzled_layout"] == (layout != "linear")
    assert function.got["is_sf_8x4_layout"] == (layout == "8x4")
    assert function.got.get("backend") == (None if version == "0.6.7" else "cuda")
    assert function.got.get("is_global_scale_inversed") == (False if version in INVERSE else None)
    assert fp4_quantize.raw(result) == list(answer)


@pytest.mark.parametrize("version", PARAMETERS)
def test_mxfp4_has_groups_of_32_and_no_global_scale(recording, version):
    inputs = fp4_quantize.inputs(tokens=5, hidden=128, layout="linear", format="mxfp4")
    function = recording(PARAMETERS[version])
    fp4_quantize.prepare(function, inputs)()
    got = function.got
    assert (got["sf_vec_size"], got["sf_use_ue8m0"], got["global_scale"]) == (32, True, None)


@pytest.mark.parametrize("version", PARAMETERS)
def test_an_inverse_scale_is_one_over_it_where_the_version_takes_it(recording, version):
    inputs = fp4_quantize.inputs(tokens=5, hidden=128, layout="linear", inversed=True)
    function = recording(PARAMETERS[version])
    if version not in INVERSE:
        with pytest.raises(NotImplementedError, match="is_global_scale_inversed"):
            fp4_quantize.prepare(function, inputs)
        return
    fp4_quantize.prepare(function, inputs)()
    assert function.got["is_global_scale_inversed"] is True
    assert float(function.got["global_scale"] * inputs["global_scale"]) == pytest.approx(1)


@pytest.mark.parametrize("version", PARAMETERS)
def test_a_backend_that_a_version_does_not_know_is_not_another_one(recording, version):
    inputs = fp4_quantize.inputs(tokens=5, hidden=128, layout="linear", backend="cute-dsl")
    function = recording(PARAMETERS[version])
    if version == "0.6.7":
        with pytest.raises(NotImplementedError, match="backend"):
            fp4_quantize.prepare(function, inputs)
        return
    fp4_quantize.prepare(function, inputs)()
    assert function.got["backend"] == "cute-dsl"
