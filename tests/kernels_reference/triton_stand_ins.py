"""Packages that look like each generation of triton_kernels and compute nothing."""

import inspect
import sys
from dataclasses import make_dataclass
from types import ModuleType, SimpleNamespace

MATMUL = (
    "a, b, bias, a_ragged_metadata=None, b_ragged_metadata=None, gather_indx=None, scatter_indx=None, "
    "precision_config=None, betas=None, gammas=None, out_alpha=None, c=None, fused_comm=None, "
    "fused_activation=None, epilogue=None, c_acc_in=None"
)
PARAMETERS = {  # of matmul_ogs, or matmul from 0.4.8 on, as the copies in these wheels of sglang-kernel have them
    "0.4.2.post1": "x, w, bias, routing_data=None, gather_indx=None, scatter_indx=None, "
    "precision_config=None, betas=None, gammas=None, out_alpha=None, y=None, fused_activation=None, "
    "epilogue=None",
    "0.4.2.post2": "x, w, bias, routing_data=None, gather_indx=None, scatter_indx=None, "
    "precision_config=None, betas=None, gammas=None, out_alpha=None, y=None, fused_comm=None, "
    "fused_activation=None, epilogue=None, y_acc_in=None, inner_routing_data=None",
    "0.4.8": MATMUL,
    "0.4.10": MATMUL,
}
OPERANDS = {"0.4.8": "abc", "0.4.10": "abc"}  # x, w and y in the earlier ones


def name_in(version):
    return "matmul" if version in OPERANDS else "matmul_ogs"


def put_package(monkeypatch, version, heard=None):
    for name, members in fakes(version, heard).items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    if version != "0.4.2.post1":
        monkeypatch.delitem(sys.modules, "triton_kernels.routing", raising=False)


def told(heard, name, function):
    """The same function, of which `heard` is told."""
    signature = inspect.signature(function)

    def telling(*args, **kwargs):
        heard(name, signature.bind(*args, **kwargs).arguments)
        return function(*args, **kwargs)

    return telling


def fakes(version, heard=None):
    """The modules of the library by name, with what a generation has in each; a child is an attribute of its parent.

    `heard` is told the name of each function that is called, and its arguments.
    """
    first, later = version == "0.4.2.post1", version in OPERANDS
    made = {
        "triton_kernels": {},
        f"triton_kernels.{name_in(version)}": classes(version, first, later),
        f"triton_kernels.{name_in(version)}_details": {},
        f"triton_kernels.{name_in(version)}_details.opt_flags": dict(
            update_opt_flags_constraints=lambda constraints: None
        ),
        "triton_kernels.numerics": dict(InFlexData=make_dataclass("InFlexData", [])),
        "triton_kernels.swiglu": dict(swiglu_fn="swiglu_fn"),
        "triton_kernels.tensor": tensor_functions(first, later),
        "triton_kernels.tensor_details": {},
        "triton_kernels.reduce": dict(reduce=lambda x, dim, y: y.copy_(x.sum(dim))),
        "triton_kernels.tensor_details.layout": layouts(later),
    }
    if first:
        experts = dict(compute_expt_data=lambda expt_hist, n_expts_tot, n_gates: (expt_hist, n_gates))
        made["triton_kernels.routing"] = experts
    if heard:
        for name, members in made.items():
            functions = {each: value for each, value in members.items() if inspect.isfunction(value)}
            members.update({each: told(heard, f"{name}.{each}", value) for each, value in functions.items()})
    for name in list(made):  # `from package import module` looks at the package's attributes first
        parent, _, child = name.rpartition(".")
        if parent:
            made[parent][child] = SimpleNamespace(**made[name])
    return made


def classes(version, first, later):
    names = ["name", "fn", "fn_arg_names", "fn_arg_do_not_specialize"]
    specs = make_dataclass("FnSpecs", [(name, object, ()) for name in names + ["reduction_n"] * (not first)])
    activation = make_dataclass(
        "FusedActivation", [(name, object, ()) for name in ["specs", "fn_args"] + ["reduction_n"] * first]
    )
    routing = ["gate_scal", "expt_hist", "n_expts_tot", "n_expts_act", "expt_data"]
    ours = dict(FnSpecs=specs, FusedActivation=activation, RoutingData=make_dataclass("RoutingData", routing))
    ours["GatherIndx"] = make_dataclass("GatherIndx", ["src_indx", "dst_indx"])
    ours["ScatterIndx"] = make_dataclass("ScatterIndx", ["src_indx", "dst_indx"])
    ours["FlexCtx"] = make_dataclass("FlexCtx", ["rhs_data"])
    precision = ["b_mx_scale" if later else "weight_scale", "flex_ctx"]
    ours["PrecisionConfig"] = make_dataclass(
        "PrecisionConfig", precision + ["b_microblock_size"] * (version == "0.4.10")
    )
    ours[name_in(version)] = None
    return ours


def layouts(later):
    return dict(
        make_default_matmul_mxfp4_w_layout=lambda mx_axis: made_layout("values", later, mx_axis=mx_axis),
        make_default_matmul_mxfp4_w_scale_layout=lambda mx_axis, num_warps=8: made_layout(
            "scales", later, mx_axis=mx_axis, num_warps=num_warps
        ),
    )


def tensor_functions(first, later):
    tensor = dict(
        FP4="fp4",
        wrap_torch_tensor=lambda torch_tensor, dtype=None: (torch_tensor, dtype),
        convert_layout=(lambda tensor, layout: (*tensor, *layout.made))
        if later
        else lambda tensor, layout_cls, **options: (*tensor, layout_cls, options),
    )
    if not first:
        tensor["make_ragged_tensor_metadata"] = lambda slice_sizes, n_total_rows: (slice_sizes, n_total_rows)
    return tensor


def made_layout(name, later, **options):
    """A class with its options in the earlier generations, an object in the later ones; of the middle axis."""
    assert options["mx_axis"] == (-2 if later else 1)
    return SimpleNamespace(made=(name, options)) if later else (name, options)
