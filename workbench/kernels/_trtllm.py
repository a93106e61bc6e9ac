"""What the kernels of trtllm_fp4_block_scale_moe share: weights in its order, the call into a buffer of its own.

`inputs` have x, `x_scales` in rows, `logits`, `bias`, `kind` and `top_k` as in `_logits`, the weights of the experts
that are here, `scale_shape` and `ep`: [number of ranks, this one].
"""

import importlib
from typing import Any

from . import _experts, _layouts, _logits, _routing

TILE_ROWS = 128  # `epilogue_tile_m` of the library, which has one value for all callers
SCALE_COLUMNS = 16  # `num_elts_per_sf`: 16 for mxfp4, too, and it does not change the order of the rows
EVERY = ("gemm1_bias", "gemm2_bias", "gemm1_alpha", "gemm1_beta", "gemm1_clamp_limit")
SCALARS = ("output1_scale_scalar", "output1_scale_gate_scalar", "output2_scale_scalar")


def call(function: Any, inputs: dict[str, Any], **more: Any) -> Any:
    """`more` are the arguments that only some have; the versions want None for the others."""
    import torch

    if "converted" not in inputs:  # once for all parts of these inputs
        inputs["converted"] = converted(inputs)
    x, mine = inputs["x"], here(inputs)
    out = torch.empty((len(x), inputs["second"].shape[1]), dtype=torch.bfloat16, device=x.device)
    asked = dict.fromkeys((*EVERY, *SCALARS))
    asked.update(
        routing_logits=inputs["logits"],
        hidden_states=x,
        hidden_states_scale=handed_over(inputs["x_scales"], inputs["scale_shape"]),
        num_experts=len(mine) * inputs["ep"][0],
        top_k=inputs["top_k"],
        intermediate_size=inputs["first"].shape[1] // 2,
        local_expert_offset=mine.start,
        local_num_experts=len(mine),
        output=out,
        **_logits.asked(inputs["kind"], inputs["bias"]),
        **inputs["converted"],
        **more,
    )

    def call() -> Any:
        function(**asked)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def handed_over(scales: Any, shape: str) -> Any:
    """The same memory as e4m3, `rows` or `flat`; None where x has no scales."""
    import torch

    if not scales.shape[1]:
        return None
    return scales.view(torch.float8_e4m3fn).view(-1 if shape == "flat" else scales.shape)


def converted(inputs: dict[str, Any]) -> dict[str, Any]:
    """Of the inputs' weights, scales and, where there are any, biases: `gemm1_weights` and so on."""
    import torch

    made = {}
    for number, name in ((1, "first"), (2, "second")):
        weights, scales = inputs[name], inputs[f"{name}_scales"]
        made[f"gemm{number}_weights"] = weights[:, _order(name, weights[0])].contiguous()
        ordered = _layouts.swizzled(scales[:, _order(name, scales[0], num_elts_per_sf=SCALE_COLUMNS)])
        # The library wants this type for powers of two, too.
        made[f"gemm{number}_weights_scale"] = ordered.view(torch.float8_e4m3fn)
        if f"{name}_bias" in inputs:
            bias = inputs[f"{name}_bias"].float()
            made[f"gemm{number}_bias"] = bias[:, _order(name, bias[0].unsqueeze(-1))].contiguous()
    return made


def _order(name: str, matrix: Any, **more: Any) -> Any:
    """Which row comes where, by the version's own helper; a new cache, for some know a matrix by its shape alone."""
    library = importlib.import_module("flashinfer.fused_moe.core")
    asked = dict(_cache_permute_indices={}, epilogue_tile_m=TILE_ROWS, **more)
    if name == "first":
        return library._maybe_get_cached_w3_w1_permute_indices(dst_w3_w1_weight=matrix, **asked)
    return library.get_w2_permute_indices_with_cache(dst_w2_weight=matrix, **asked)


def here(inputs: dict[str, Any]) -> range:
    """The experts whose weights are in the inputs, as numbered through all ranks."""
    size, rank = inputs["ep"]
    return _experts.here(len(inputs["first"]) * size, size, rank)


def _routed(inputs: dict[str, Any]) -> tuple[Any, Any]:
    return _logits.routed(*(inputs[name] for name in ("logits", "bias", "kind", "top_k")))


def answer(inputs: dict[str, Any], rows: Any, layer: Any) -> dict[str, Any]:
    """The reference, of x in float32 and one expert's layer."""
    return {"out": _experts.mixed(rows, *_routed(inputs), here(inputs), layer)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(_routed(inputs)[0], here(inputs).stop)}
