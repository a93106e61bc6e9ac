"""How the mxfp4 expert kernels call each generation of the library, against packages that look like them."""

from types import SimpleNamespace

import pytest
from triton_stand_ins import OPERANDS, PARAMETERS, name_in, put_package

from workbench.kernels import _routing, mxfp4_combine, mxfp4_mlp, mxfp4_swiglu

torch = pytest.importorskip("torch")

CASE = dict(tokens=24, experts=4, hidden=128, columns=256, top_k=2, routing="uniform")


@pytest.fixture
def inputs():
    return mxfp4_swiglu.inputs(**CASE)


@pytest.fixture(params=PARAMETERS)
def library(request, monkeypatch, recording):
    """A package that looks like triton_kernels of that generation and computes nothing."""
    put_package(monkeypatch, request.param)
    function = recording(PARAMETERS[request.param])
    function.__module__ = f"triton_kernels.{name_in(request.param)}"
    return SimpleNamespace(version=request.param, function=function)


def operands(library):
    """x, w and y as they were handed over."""
    return [library.function.got[name] for name in OPERANDS.get(library.version, "xwy")]


def scale_of(library):
    precision = library.function.got["precision_config"]
    if library.version == "0.4.10":
        assert precision.b_microblock_size == 32
    return precision.b_mx_scale if library.version in OPERANDS else precision.weight_scale


def test_the_call_fits_each_generation(library, inputs):
    call = mxfp4_swiglu.prepare(library.function, inputs)
    answer = call()
    x, w, y = operands(library)
    assert x is inputs["x"] and library.function.got["bias"] is inputs["bias"]
    assert answer.shape == (48, 128) and answer.dtype == torch.bfloat16
    assert answer.data_ptr() == call.outputs[0].data_ptr() == y.data_ptr()
    assert y.shape == (1, 48, 128)
    values, dtype, layout, _ = w
    assert (dtype, layout, values.stride(1)) == ("fp4", "values", 1)
    assert torch.equal(values.transpose(1, 2), inputs["packed"])
    scale, *_ = scale_of(library)
    assert torch.equal(scale.transpose(1, 2), inputs["exponents"])


def test_swiglu_halves_the_columns_in_each_generation(library, inputs):
    mxfp4_swiglu.prepare(library.function, inputs)()
    activation = library.function.got["fused_activation"]
    owner = activation if library.version == "0.4.2.post1" else activation.specs
    assert owner.reduction_n == 2
    assert (activation.specs.name, activation.fn_args) == ("swiglu", (1.702, 7.0))


def test_the_routing_that_is_handed_over_is_that_of_the_reference(library, inputs):
    mxfp4_swiglu.prepare(library.function, inputs)()
    position, rows = _routing.sorted_rows(inputs["chosen"], 4)
    if library.version in OPERANDS:  # the row of x for each row of the answer
        assert torch.equal(library.function.got["gather_indx"], (position // 2).int())
        blocks, total = library.function.got["a_ragged_metadata"]
        assert torch.equal(blocks.long(), rows) and total == 48
        return
    gather, routing = (library.function.got[name] for name in ("gather_indx", "routing_data"))
    assert torch.equal(gather.src_indx.long(), position)
    assert torch.equal(gather.dst_indx.long()[position], torch.arange(48))
    assert routing.expt_hist.dtype == torch.int32 and torch.equal(routing.expt_hist.long(), rows)
    assert (routing.n_expts_tot, routing.n_expts_act) == (4, 2)
    assert torch.equal(routing.expt_data[0], routing.expt_hist) and routing.expt_data[1] == 48


def test_padded_scales_reach_the_library(library):
    inputs = mxfp4_swiglu.inputs(**{**CASE, "hidden": 192}, pad_scales=True)
    mxfp4_swiglu.prepare(library.function, inputs)()
    scale, *_ = scale_of(library)
    assert scale.shape == (4, 8, 256)
    assert torch.equal(scale.transpose(1, 2)[..., :6], inputs["exponents"])


SECOND = dict(tokens=24, experts=4, intermediate=128, hidden=96, top_k=2, routing="uniform")


def put_back(library, got):
    """The token and the choice, as one number, that each row is put back to, whichever way it is said."""
    if library.version in OPERANDS:
        return got["scatter_indx"].long()
    scatter = got["scatter_indx"]
    assert torch.equal(scatter.src_indx.long()[scatter.dst_indx.long()], torch.arange(len(scatter.src_indx)))
    return scatter.dst_indx.long()


def test_the_second_product_puts_each_row_back_with_its_gate(library):
    inputs = mxfp4_combine.inputs(**SECOND)
    mxfp4_combine.prepare(library.function, inputs)()
    got = library.function.got
    x, w, _ = operands(library)
    assert x is inputs["x"] and got["bias"] is inputs["bias"] and "fused_activation" not in got
    assert torch.equal(w[0].transpose(1, 2), inputs["packed"]) and got.get("gather_indx") is None
    position, rows = _routing.sorted_rows(inputs["chosen"], 4)
    assert torch.equal(put_back(library, got), position)
    assert torch.equal(got["gammas"], inputs["gates"].flatten()[position])
    if library.version in OPERANDS:
        assert torch.equal(got["a_ragged_metadata"][0].long(), rows)
    else:
        assert torch.equal(got["routing_data"].expt_hist.long(), rows)


def test_what_does_not_add_up_itself_is_added_up_after_it(library):
    inputs = mxfp4_combine.inputs(**SECOND)
    call = mxfp4_combine.prepare(library.function, inputs)
    y = call.outputs[0]
    y.copy_(torch.randn(y.shape))
    answer = call()
    assert answer.shape == (24, 96) and answer is call.outputs[1]
    if library.version in OPERANDS:
        assert y.shape == (1, 48, 96)
        assert torch.allclose(answer.float(), y[0].unflatten(0, (24, 2)).float().sum(1), atol=1e-1)
    else:
        assert y.shape == (1, 24, 96) and y.data_ptr() == answer.data_ptr()


def test_the_whole_layer_hands_the_middle_on(library, monkeypatch):
    case = dict(SECOND, intermediate=64)
    inputs, calls = mxfp4_mlp.inputs(**case), []

    def function(**asked):
        library.function(**asked)
        calls.append(library.function.got)

    function.__module__ = library.function.__module__
    call = mxfp4_mlp.prepare(function, inputs)
    assert call().shape == (24, 96) and len(calls) == 2
    x, _, y = OPERANDS.get(library.version, "xwy")
    assert calls[0][x] is inputs["x"] and calls[0][y].shape == (1, 48, 64)
    assert calls[1][x].data_ptr() == calls[0][y].data_ptr() and calls[1][x].shape == (48, 64)
    assert "fused_activation" in calls[0] and "gammas" not in calls[0]
    assert "fused_activation" not in calls[1] and "gammas" in calls[1]


def test_padded_scales_reach_both_products(library):
    inputs, widths = mxfp4_mlp.inputs(**dict(SECOND, intermediate=64), pad_scales=True), []

    def function(**asked):
        library.function(**asked)
        widths.append(scale_of(library)[0].shape[1])

    function.__module__ = library.function.__module__
    mxfp4_mlp.prepare(function, inputs)()
    assert widths == [4, 4]  # of 3 and 2 groups
