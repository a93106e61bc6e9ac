# ruff: noqa
import flashinfer
import flashinfer as fi
import flashinfer.decode
from flashinfer import fp4_quantize
from flashinfer import fp4_quantize as quantize
from flashinfer import mxfp4_quantize
from flashinfer.fused_moe import trtllm_fp4_block_scale_moe


def keywords(x, s):
    fp4_quantize(x, s, sf_vec_size=16, enable_pdl=True, backend="cuda")
    fp4_quantize(x, global_scale=s, is_global_scale_inversed=True)  # back breaks
    fp4_quantize(x, global_scales=s)  # forth breaks # back breaks
    return fp4_quantize(x)


def positions(x, s):
    fp4_quantize(x, s, 16, False, True, False)
    fp4_quantize(x, s, 16, False, True, False, True)  # forth shifts # back shifts
    quantize(x, s, 16, False, True, False, True, "cuda")  # forth shifts # back shifts
    flashinfer.fp4_quantize(x, s, 16, False, True, False, None)  # forth shifts # back shifts
    fi.quantization.fp4_quantize(x, s, 16, False, True, False, False, None, "cuda")  # back breaks
    fp4_quantize(x, s, 16, False, True, False, enable_pdl=True)
    return mxfp4_quantize(x)


def moe(a):
    trtllm_fp4_block_scale_moe(
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, 128, 4, 1, 1, 2880, 0, 128, 1.0, 0, True, None, 3
    )
    trtllm_fp4_block_scale_moe(  # forth shifts # back shifts
        a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, 128, 4, 1, 1, 2880, 0, 128, 1.0, 0, True, None, 3, a
    )
    trtllm_fp4_block_scale_moe(
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        a,
        128,
        4,
        1,
        1,
        2880,
        0,
        128,
        1.0,
        0,
        True,
        None,
        3,
        output=a,
    )
    trtllm_fp4_block_scale_moe(a, a, a, top_k=4)  # forth breaks # back breaks


def gemm(a, b, alpha):
    flashinfer.mm_fp4(a, b, alpha=alpha)
    flashinfer.mm_fp4(a, b, alpha)  # forth breaks
    flashinfer.mm_fp4(a, b, skip_check=True)  # back breaks
    flashinfer.gemm.grouped(a, b, ab_dtype=1, mma_tiler_mn=(64, 64))
    flashinfer.comm.create_workspace(rank=0, group=None)  # back breaks
    flashinfer.comm.allreduce_fusion(a, b, 1, False, a)  # forth shifts # back shifts
