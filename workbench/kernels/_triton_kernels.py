"""What `matmul_ogs` of triton_kernels wants besides tensors: weights in its layout, routing, the epilogue.

Two generations of the library are met, found by asking: one with `triton_kernels.routing`, one with
ragged metadata in `triton_kernels.tensor`; `reduction_n` is in FusedActivation in the first and in
FnSpecs in the second. A later one, which has `matmul` and no matmul_ogs, is not covered. `library` is
the module that holds matmul_ogs.
"""

import inspect
from typing import Any

from . import _routing


def weights(library: Any, packed: Any, exponents: Any) -> tuple[Any, Any]:
    """Weights and PrecisionConfig, in the layouts that the library's own helpers pick for this GPU.

    packed uint8 [experts, columns, k/2] and exponents uint8 [experts, columns, k/32], as in `_fp4`.
    """
    from triton_kernels import tensor
    from triton_kernels.numerics import InFlexData
    from triton_kernels.tensor_details import layout

    values, value_options = layout.make_default_matmul_mxfp4_w_layout(mx_axis=1)
    scales, scale_options = layout.make_default_matmul_mxfp4_w_scale_layout(mx_axis=1, num_warps=8)
    wrapped = tensor.wrap_torch_tensor(torch_tensor=packed.transpose(-2, -1), dtype=tensor.FP4)
    converted = tensor.convert_layout(tensor=wrapped, layout_cls=values, **value_options)
    wrapped = tensor.wrap_torch_tensor(torch_tensor=exponents.transpose(-2, -1))
    scale = tensor.convert_layout(tensor=wrapped, layout_cls=scales, **scale_options)
    context = library.FlexCtx(rhs_data=InFlexData())
    return converted, library.PrecisionConfig(weight_scale=scale, flex_ctx=context)


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
    try:
        from triton_kernels import routing
    except ImportError:
        from triton_kernels import tensor

        return tensor.make_ragged_tensor_metadata(slice_sizes=rows, n_total_rows=total)
    return routing.compute_expt_data(expt_hist=rows, n_expts_tot=len(rows), n_gates=total)


def swiglu(library: Any, alpha: float, limit: float) -> Any:
    from triton_kernels.swiglu import swiglu_fn

    pairs = dict(reduction_n=2)
    of_specs = "reduction_n" in inspect.signature(library.FnSpecs).parameters
    named = dict(name="swiglu", fn=swiglu_fn, fn_arg_names=("alpha", "limit"))
    specs = library.FnSpecs(**named, **(pairs if of_specs else {}))
    return library.FusedActivation(specs=specs, fn_args=(alpha, limit), **({} if of_specs else pairs))


def persist_on_blackwell(device: Any) -> None:
    """On SM100 the library refuses small shapes unless told to be persistent, as its callers tell it."""
    import torch

    if device.type == "cuda" and torch.cuda.get_device_capability(device)[0] == 10:
        from triton_kernels.matmul_ogs_details import opt_flags

        opt_flags.update_opt_flags_constraints({"is_persistent": True, "epilogue_subtile": 1})
