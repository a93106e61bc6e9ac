"""What triton_kernels' matrix product wants besides tensors: weights in its layout, routing, the epilogue.

Its generations are told apart by asking: one with `triton_kernels.routing`; one with ragged metadata in
`triton_kernels.tensor`, and `reduction_n` in FnSpecs instead of FusedActivation; one with `matmul` in the
place of matmul_ogs, operands a, b and c, and layouts that are objects; one that also wants the size of a
scale's group. `library` is the module that holds the function.
"""

import importlib
import inspect
from typing import Any

from . import _fp4, _routing


def weights(library: Any, packed: Any, exponents: Any) -> tuple[Any, Any]:
    """Weights and PrecisionConfig, in the layouts that the library's own helpers pick for this GPU.

    packed uint8 [experts, columns, k/2] and exponents uint8 [experts, columns, k/32], as in `_fp4`.
    """
    from triton_kernels import tensor
    from triton_kernels.numerics import InFlexData
    from triton_kernels.tensor_details import layout

    axis = 1 if hasattr(library, "matmul_ogs") else -2  # the same one of three
    values = layout.make_default_matmul_mxfp4_w_layout(mx_axis=axis)
    scales = layout.make_default_matmul_mxfp4_w_scale_layout(mx_axis=axis, num_warps=8)
    wrapped = tensor.wrap_torch_tensor(torch_tensor=packed.transpose(-2, -1), dtype=tensor.FP4)
    converted = _in_layout(wrapped, values)
    scale = _in_layout(tensor.wrap_torch_tensor(torch_tensor=exponents.transpose(-2, -1)), scales)
    return converted, _precision(library, scale, library.FlexCtx(rhs_data=InFlexData()))


def _in_layout(wrapped: Any, layout: Any) -> Any:
    from triton_kernels.tensor import convert_layout

    if not isinstance(layout, tuple):
        return convert_layout(tensor=wrapped, layout=layout)
    kind, options = layout
    return convert_layout(tensor=wrapped, layout_cls=kind, **options)


def _precision(library: Any, scale: Any, context: Any) -> Any:
    taken = inspect.signature(library.PrecisionConfig).parameters
    if "weight_scale" in taken:
        return library.PrecisionConfig(weight_scale=scale, flex_ctx=context)
    group = {"b_microblock_size": _fp4.GROUP} if "b_microblock_size" in taken else {}
    return library.PrecisionConfig(b_mx_scale=scale, flex_ctx=context, **group)


def arguments(
    library: Any, x: Any, weights: Any, bias: Any, chosen: Any, experts: int, y: Any
) -> dict[str, Any]:
    """All that the function is called with but the epilogue; `weights` are those of `weights`, with precision."""
    w, precision = weights
    both = dict(bias=bias, precision_config=precision)
    if hasattr(library, "matmul_ogs"):
        data, gather = routed(library, chosen, experts)
        return dict(both, x=x, w=w, y=y, routing_data=data, gather_indx=gather)
    position, rows = _routing.sorted_rows(chosen, experts)
    source = (position // chosen.shape[1]).int()
    return dict(
        both, a=x, b=w, c=y, a_ragged_metadata=_blocks(rows.int(), chosen.numel()), gather_indx=source
    )


def combining(
    library: Any, x: Any, weights: Any, bias: Any, chosen: Any, gates: Any, experts: int, y: Any
) -> dict[str, Any]:
    """The same for rows that are sorted by expert, to be multiplied by their gates and put back by token.

    y is what `room_to_combine` gives.
    """
    w, precision = weights
    position, rows = _routing.sorted_rows(chosen, experts)
    both = dict(bias=bias, precision_config=precision, gammas=gates.flatten()[position])
    if hasattr(library, "matmul_ogs"):
        data, gather = routed(library, chosen, experts)
        scatter = library.ScatterIndx(src_indx=gather.dst_indx, dst_indx=gather.src_indx)
        return dict(both, x=x, w=w, y=y, routing_data=data, scatter_indx=scatter)
    blocks = _blocks(rows.int(), chosen.numel())
    return dict(both, a=x, b=w, c=y, a_ragged_metadata=blocks, scatter_indx=position.int())


def room_to_combine(library: Any, out: Any, top_k: int) -> Any:
    """Where the product goes: matmul_ogs adds up by itself, `matmul` leaves a row for each choice."""
    if hasattr(library, "matmul_ogs"):
        return out.unsqueeze(0)
    return out.new_empty((1, len(out) * top_k, out.shape[1]))


def add_up(library: Any, room: Any, out: Any) -> None:
    """Add up the rows of each token, where the product has not."""
    if hasattr(library, "matmul_ogs"):
        return
    from triton_kernels.reduce import reduce

    reduce(x=room.view(len(out), -1, out.shape[1]), dim=1, y=out)


def routed(library: Any, chosen: Any, experts: int) -> tuple[Any, Any]:
    """RoutingData and GatherIndx by our own sort: every version computes the same rows in the same order."""
    import torch

    position, rows = _routing.sorted_rows(chosen, experts)
    gather = library.GatherIndx(src_indx=position.int(), dst_indx=torch.argsort(position).int())
    data = library.RoutingData(
        gate_scal=None,
        expt_hist=rows.int(),
        n_expts_tot=experts,
        n_expts_act=chosen.shape[1],
        expt_data=_blocks(rows.int(), chosen.numel()),
    )
    return data, gather


def _blocks(rows: Any, total: int) -> Any:
    from triton_kernels import tensor

    if hasattr(tensor, "make_ragged_tensor_metadata"):
        return tensor.make_ragged_tensor_metadata(slice_sizes=rows, n_total_rows=total)
    from triton_kernels import routing

    return routing.compute_expt_data(expt_hist=rows, n_expts_tot=len(rows), n_gates=total)


def swiglu(library: Any, alpha: float, limit: float) -> Any:
    from triton_kernels.swiglu import swiglu_fn

    pairs = dict(reduction_n=2)
    of_specs = "reduction_n" in inspect.signature(library.FnSpecs).parameters
    named = dict(name="swiglu", fn=swiglu_fn, fn_arg_names=("alpha", "limit"))
    specs = library.FnSpecs(**named, **(pairs if of_specs else {}))
    return library.FusedActivation(specs=specs, fn_args=(alpha, limit), **({} if of_specs else pairs))


def persist_on_blackwell(library: Any, device: Any) -> None:
    """On SM100 the library refuses small shapes unless told to be persistent, as its callers tell it."""
    import torch

    if device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 10:
        opt_flags = importlib.import_module(f"{library.__name__}_details.opt_flags")
        opt_flags.update_opt_flags_constraints({"is_persistent": True, "epilogue_subtile": 1})
