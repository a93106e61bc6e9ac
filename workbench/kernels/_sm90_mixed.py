"""mxfp4 weights as cutlass_fused_moe wants them on SM90: a layout that changed between versions, and no shape tells.

A version that has helpers for it is asked, each time anew: what one version made is wrong numbers in another.
Up to 0.6.9 there were none; callers left the weights as they were and put the scales in order themselves.
"""

import importlib
from typing import Any


def converted(packed: Any, scales: Any, preparation: str) -> tuple[Any, Any]:
    """Weights uint8 [experts, rows, k/2] and scales uint8 [experts, rows, k/32] in the layout of this version.

    `preparation` is `own`, or `callers`, which does what callers did before there were helpers, whatever the version.
    """
    library = importlib.import_module("flashinfer.fused_moe")
    of_weights = getattr(library, "interleave_moe_weights_for_sm90_mixed_gemm", None)
    if preparation == "callers" or of_weights is None:
        return packed, by_callers(scales)
    of_scales = library.interleave_moe_scales_for_sm90_mixed_gemm
    return of_weights(weight=packed, quant_type="fp4"), of_scales(scales=scales, group_size=32)


def by_callers(scales: Any) -> Any:
    """[experts, k/128, rows * 4]: four groups of 32 of a row side by side, then the next row."""
    return scales.unflatten(2, (-1, 4)).transpose(1, 2).flatten(2).contiguous()
