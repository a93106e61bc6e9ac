"""A part of a case's inputs is a smaller case of its own: its reference is the first rows of the whole one's."""

import pytest

from workbench import kernels
from workbench.kernels import mxfp4_swiglu

torch = pytest.importorskip("torch")

SHAPE = dict(experts=4, hidden=128, top_k=2, routing="uniform")
PAGED = dict(batch=12, heads=4, kv_heads=2, head_dim=16, lengths="ragged", sinks=True, page=16)
DECODE = dict(PAGED, length=40, backend="auto")
MX = dict(tokens=12, hidden=64, layout="linear", backend="cuda")
CASES = [  # kernel, case, rows of the answer that a part of 5 has
    ("fp4_quantize", dict(tokens=12, hidden=64, layout="linear"), 5),
    ("fp4_quantize", dict(tokens=12, hidden=64, layout="8x4", format="mxfp4"), 5),
    ("mxfp4_quantize", MX, 5),
    ("mxfp8_quantize", MX, 5),
    ("cutlass_moe", dict(tokens=12, intermediate=64, **SHAPE), 5),
    ("mxfp4_mlp", dict(tokens=12, intermediate=64, **SHAPE), 5),
    ("trtllm_attention", DECODE, 5),
    ("trtllm_attention", dict(DECODE, q_len=3, window=7), 15),
    ("trtllm_attention_fp8", DECODE, 5),
    ("trtllm_prefill", dict(PAGED, tokens=20, prefix=7, window=9), 20 + 20 + 19 + 18 + 17),
    ("trtllm_prefill_fp8", dict(PAGED, tokens=20, prefix=7, window=9), 20 + 20 + 19 + 18 + 17),
]


@pytest.mark.parametrize("name, case, rows", CASES)
def test_the_first_rows(name, case, rows):
    kernel = kernels.get(name)
    whole = kernel.inputs(**case)
    part = kernel.part(whole, 5)
    for each in kernel.VARIES:
        assert part[each].data_ptr() == whole[each].data_ptr(), "the same memory"
    for answer, wanted in kernel.reference(whole).items():
        assert torch.allclose(kernel.reference(part)[answer], wanted[:rows], atol=1e-4)


def test_rows_that_are_sorted_by_expert():
    whole = mxfp4_swiglu.inputs(tokens=12, columns=64, **SHAPE)
    part = mxfp4_swiglu.part(whole, 5)
    assert mxfp4_swiglu.reference(part)["out"].shape == (10, 32)
    assert part["packed"] is whole["packed"] and part["x"].data_ptr() == whole["x"].data_ptr()
