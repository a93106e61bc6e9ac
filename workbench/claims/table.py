"""Whom to ask about which function, and how: see worker/claims.py for the ways.

The rule: a way that a version does not have is passed over, so nothing here depends on a version.
"""

from collections.abc import Mapping
from typing import Any

_XQA = dict(
    input_dtype="torch.bfloat16", kv_cache_dtype="torch.bfloat16", output_dtype="torch.bfloat16", page_size=32,
    head_dim=128, head_group_ratio=8, use_sliding_window=False,
)  # fmt: skip
_FP4 = [
    dict(kind="check", module="flashinfer.utils", name="_check_block_scale_quantization_support"),
    dict(
        kind="choice", module="flashinfer.quantization.fp4_quantization", name="get_fp4_quantization_module"
    ),
]
_TRTLLM_MOE = [
    dict(kind="builder", module="flashinfer.jit.fused_moe", name="gen_trtllm_gen_fused_moe_sm100_module")
]
ASKED: Mapping[str, tuple[str, list[dict[str, Any]]]] = {
    "flashinfer.fp4_quantize": ("fp4_quantize", _FP4),
    "flashinfer.nvfp4_quantize": ("fp4_quantize", _FP4),
    "flashinfer.mxfp8_quantize": ("mxfp8_quantize", _FP4[:1]),
    "flashinfer.fused_moe.cutlass_fused_moe": (
        "cutlass_moe",
        [dict(kind="choice", module="flashinfer.fused_moe.core", name="get_cutlass_fused_moe_module")],
    ),
    "flashinfer.fused_moe.trtllm_fp4_block_scale_moe": ("trtllm_moe", _TRTLLM_MOE),
    "flashinfer.fused_moe.trtllm_bf16_moe": ("trtllm_moe", _TRTLLM_MOE),
    "flashinfer.CuteDslMoEWrapper": ("cutedsl_moe", []),
    "flashinfer.b12x_fused_moe": ("cutedsl_moe", []),
    "flashinfer.cute_dsl_fused_moe_bf16": ("cutedsl_moe", []),
    "flashinfer.decode.trtllm_batch_decode_with_kv_cache": ("trtllm_attention", []),
    "flashinfer.prefill.trtllm_batch_context_with_kv_cache": (
        "trtllm_prefill",
        [dict(kind="builder", module="flashinfer.jit.attention.modules", name="gen_trtllm_gen_fmha_module")],
    ),
    "flashinfer.xqa.xqa": (
        "trtllm_attention",
        [dict(kind="builder", module="flashinfer.jit.xqa", name="gen_xqa_module", arguments=_XQA)],
    ),
    "flashinfer.prefill.trtllm_fmha_v2_prefill": ("fmha_v2_prefill", []),
    "flashinfer.mm_fp4": ("", []),
    "flashinfer.mm_bf16": ("", []),
    "flashinfer.mm_mxfp8": ("", []),
    "flashinfer.bmm_fp8": ("", []),
    "flashinfer.comm.allreduce_fusion": (
        "allreduce_fusion",
        [dict(kind="builder", module="flashinfer.jit.comm", name="gen_trtllm_comm_module")],
    ),
}
