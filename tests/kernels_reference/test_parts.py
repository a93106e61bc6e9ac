"""A part of a case's inputs is a smaller case of its own: its reference is the first rows of the whole one's."""

import pytest

from workbench.kernels import cutlass_moe, fp4_quantize, mxfp4_swiglu, trtllm_attention

torch = pytest.importorskip("torch")

SHAPE = dict(experts=4, hidden=128, top_k=2, routing="uniform")
CASES = {
    fp4_quantize: dict(tokens=12, hidden=64, layout="linear"),
    cutlass_moe: dict(tokens=12, intermediate=64, **SHAPE),
    trtllm_attention: dict(
        batch=12,
        length=40,
        heads=4,
        kv_heads=2,
        head_dim=16,
        lengths="ragged",
        sinks=True,
        page=16,
        backend="auto",
    ),
}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__.rpartition(".")[2])
def test_the_first_rows(kernel):
    whole = kernel.inputs(**CASES[kernel])
    part = kernel.part(whole, 5)
    for name in kernel.VARIES:
        assert part[name].data_ptr() == whole[name].data_ptr(), "the same memory"
    for name, wanted in kernel.reference(whole).items():
        assert torch.allclose(kernel.reference(part)[name], wanted[:5], atol=1e-4)


def test_rows_that_are_sorted_by_expert():
    whole = mxfp4_swiglu.inputs(tokens=12, columns=64, **SHAPE)
    part = mxfp4_swiglu.part(whole, 5)
    assert mxfp4_swiglu.reference(part)["out"].shape == (10, 32)
    assert part["packed"] is whole["packed"] and part["x"].data_ptr() == whole["x"].data_ptr()
