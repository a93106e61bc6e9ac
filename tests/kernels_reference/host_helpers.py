"""Our codes, scales and orders beside those of FlashInfer's own helpers that need no GPU; run by its interpreter.

Prints one JSON object: what was compared -> whether it is the same.
"""

import json
import sys

import flashinfer  # noqa: TID253
import torch  # noqa: TID253
from flashinfer.fused_moe import interleave_moe_scales_for_sm90_mixed_gemm  # noqa: TID253
from flashinfer.quantization import fp4_quantization  # noqa: TID253

sys.path.insert(0, sys.argv[1])

from workbench.kernels import (
    _draw,
    _fp4,
    _mx,
    _mx_experts,
    _nvfp4,
    _nvfp4_experts,
    _sm90_mixed,
    _trtllm,
)

_draw.device = lambda: torch.device("cpu")
unpacked = fp4_quantization._e2m1_and_ufp8sf_scale_to_float_cpu


def nvfp4():
    x, global_scale = _nvfp4.inputs(0, 12, 192)
    codes, scales = _nvfp4.quantized(x.float(), global_scale)
    packed, stored = _fp4.pack(codes), scales.to(torch.float8_e4m3fn).view(torch.uint8)
    theirs = unpacked(packed, stored, 1 / global_scale, _nvfp4.GROUP, 1, False)
    return torch.allclose(theirs, _nvfp4.stored_values(packed, stored, global_scale, "linear"), rtol=1e-6)


def mxfp4():
    x, _ = _nvfp4.inputs(1, 12, 192)
    packed, exponents = _fp4.mx_quantize(x.float())
    theirs = unpacked(packed, exponents, torch.ones(1), _fp4.GROUP, 0, False)
    return torch.equal(theirs, _mx.stored_fp4(packed, exponents, "linear"))


def rows_of(weights):
    """Weights of trtllm-gen's expert layers, in the order that its helpers give a matrix."""
    made = _trtllm.converted(weights)
    gated = [flashinfer.reorder_rows_for_gated_act_gemm(each.clone()) for each in weights["first"]]
    theirs = [flashinfer.shuffle_matrix_a(each, _trtllm.TILE_ROWS) for each in (*gated, *weights["second"])]
    return all(map(torch.equal, theirs, (*made["gemm1_weights"], *made["gemm2_weights"])))


def rows_of_nvfp4():
    return rows_of(_nvfp4_experts.weights(_draw.generator(0), 2, 256, 256))


def rows_of_mxfp4():
    return rows_of(_mx_experts.weights(_draw.generator(0), 2, 160, 224, 256))


def scales_by_callers():
    """What callers did before there was a helper is what the first helpers do; later ones fold blocks."""
    scales = torch.randint(0, 255, (2, 128, 8), dtype=torch.uint8)
    theirs = interleave_moe_scales_for_sm90_mixed_gemm(scales=scales, group_size=32)
    return theirs.shape == (2, 2, 512) and torch.equal(theirs, _sm90_mixed.by_callers(scales))


compared = (nvfp4, mxfp4, rows_of_nvfp4, rows_of_mxfp4, scales_by_callers)
print(json.dumps({each.__name__: bool(each()) for each in compared}))
