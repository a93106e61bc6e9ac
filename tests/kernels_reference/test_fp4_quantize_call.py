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
}


@pytest.mark.parametrize("layout", fp4_quantize.LAYOUTS)
@pytest.mark.parametrize("version", PARAMETERS)
def test_the_call_fits_the_version(recording, version, layout):
    inputs = fp4_quantize.inputs(tokens=5, hidden=128, layout=layout)
    answer = torch.zeros(5, 64, dtype=torch.uint8), torch.zeros(5, 8, dtype=torch.uint8)
    function = recording(PARAMETERS[version], answer)
    result = fp4_quantize.prepare(function, inputs)()
    assert function.got["input"] is inputs["x"] and function.got["global_scale"] is inputs["global_scale"]
    assert function.got["is_sf_swizzled_layout"] == (layout == "swizzled")
    assert function.got.get("backend") == (None if version == "0.6.7" else "cuda")
    assert function.got.get("is_global_scale_inversed") == (False if version == "0.6.11.post1" else None)
    assert fp4_quantize.raw(result) == list(answer)
