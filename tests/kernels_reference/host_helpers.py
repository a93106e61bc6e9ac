"""Our codes, scales, orders and routing beside those of FlashInfer's helpers that need no GPU; run by its interpreter.

Prints one JSON object: what was compared -> whether it is the same.
"""

import inspect
import json
import sys

import flashinfer  # noqa: TID253
import torch  # noqa: TID253
from flashinfer.fused_moe import interleave_moe_scales_for_sm90_mixed_gemm  # noqa: TID253
from flashinfer.quantization import fp4_quantization  # noqa: TID253
from flashinfer.trace.templates import moe  # noqa: TID253

sys.path.insert(0, sys.argv[1])

from workbench.kernels import (
    _draw,
    _fp4,
    _logits,
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


def routed_by(name, kind, top_k):
    """Ours and theirs as gates [tokens, experts]; theirs is caught where the experts' layers would begin."""
    chosen = _logits.choose(64, 64, top_k, "uniform", kind)
    drawn = _logits.drawn(_draw.generator(0), chosen, 64, kind)
    said = dict.fromkeys(("routing_bias", "routed_scaling_factor", "n_group", "topk_group"))
    if kind == "deepseek_v3":
        said.update(routing_bias=drawn["bias"], routed_scaling_factor=_logits.SCALING)
        said.update(n_group=_logits.GROUPS, topk_group=_logits.BEST_GROUPS)
    caught = []
    moe._fp4_moe_run_experts = lambda *given, **more: caught.append(given)
    theirs = getattr(moe, f"_trtllm_fp4_block_scale_moe_{name}_routing_reference")
    said.update(routing_logits=drawn["logits"], top_k=top_k, local_expert_offset=0)
    theirs(**{each: said.get(each) for each in inspect.signature(theirs).parameters if "kwargs" not in each})
    weights, experts = caught[0][8:10]
    ours = _logits.routed(**drawn, kind=kind, top_k=top_k)
    return [torch.zeros(64, 64).scatter(1, *each) for each in (ours, (experts, weights))]


def routing():
    """Of the kinds for which the library has a reference in Python. TopK stands aside: its kernels do otherwise."""
    named = dict(default="default", renormalize="renormalize", renormalize_naive="renormalize_naive")
    named.update(deepseek_v3="ds", llama4="llama4")
    pairs = [routed_by(name, kind, 1 if kind == "llama4" else 4) for kind, name in named.items()]
    return all(torch.allclose(*pair, atol=1e-6) for pair in pairs)


def experts_of_topk():
    """The same experts; the reference weighs them alike, and the kernels by their logits."""
    ours, theirs = routed_by("topk", "topk", 4)
    return torch.equal(ours.bool(), theirs.bool()) and torch.equal(theirs, theirs.bool() / 4)


compared = (nvfp4, mxfp4, rows_of_nvfp4, rows_of_mxfp4, scales_by_callers, routing, experts_of_topk)
print(json.dumps({each.__name__: bool(each()) for each in compared}))
