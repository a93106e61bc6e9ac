"""What the kernels of cutlass_fused_moe share: the call into a buffer of its own, and one rank's share of the experts.

`inputs` have x, `chosen` int32 and `gates` float32 [tokens, top_k], `first` and `second` weights of the experts that
are here, and `ep`: [number of ranks, this one], where there are several.
"""

from typing import Any

from . import _experts, _routing


def call(function: Any, inputs: dict[str, Any], hidden: int, **more: Any) -> Any:
    """A call that answers bfloat16 [tokens, hidden]; `more` are the arguments that only some have."""
    import torch

    x, (ep_size, ep_rank) = inputs["x"], _ep(inputs)
    out = torch.empty((len(x), hidden), dtype=torch.bfloat16, device=x.device)
    asked = dict(
        input=x,
        token_selected_experts=inputs["chosen"],
        token_final_scales=inputs["gates"],
        output_dtype=out.dtype,
        ep_size=ep_size,
        ep_rank=ep_rank,
        output=out,
        **more,
    )

    def call() -> Any:
        function(**asked)
        return out

    call.outputs = [out]  # type: ignore[attr-defined]
    return call


def _ep(inputs: dict[str, Any]) -> Any:
    return inputs.get("ep", (1, 0))


def here(inputs: dict[str, Any]) -> range:
    """The experts whose weights are in the inputs, as numbered through all ranks."""
    ep_size, ep_rank = _ep(inputs)
    return _experts.here(len(inputs["first"]) * ep_size, ep_size, ep_rank)


def answer(inputs: dict[str, Any], rows: Any, layer: Any) -> dict[str, Any]:
    """The reference, of x in float32 and one expert's layer."""
    return {"out": _experts.mixed(rows, inputs["chosen"], inputs["gates"], here(inputs), layer)}


def reached(inputs: dict[str, Any]) -> dict[str, bool]:
    return {"last expert": _routing.reaches_last(inputs["chosen"], here(inputs).stop)}
