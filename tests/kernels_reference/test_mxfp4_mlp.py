import pytest

from workbench.kernels import _fp4, mxfp4_combine, mxfp4_mlp, mxfp4_swiglu

torch = pytest.importorskip("torch")

CASE = dict(tokens=24, experts=4, intermediate=64, hidden=128, top_k=2, routing="uniform")


@pytest.fixture
def inputs():
    return mxfp4_mlp.inputs(**CASE)


def computed(inputs, **changed):
    """The answer by another way than the reference's: token by token, choice by choice, rounded at each step."""
    got = {**inputs, **changed}
    first, second = (_fp4.mx_dequantize(*got[name][:2]) for name in ("first", "second"))
    answer = torch.zeros_like(got["x"], dtype=torch.float32)
    for token, experts in enumerate(got["chosen"].tolist()):
        for choice, expert in enumerate(experts):
            both = first[expert] @ got["x"][token].float() + got["first"][2][expert]
            gate, linear = both[0::2].clamp(max=7.0), both[1::2].clamp(-7.0, 7.0)
            middle = (gate / (1 + torch.exp(-1.702 * gate)) * (linear + 1)).bfloat16().float()
            product = second[expert] @ middle + got["second"][2][expert]
            answer[token] += (got["gates"][token, choice] * product).bfloat16()
    return {"out": answer.bfloat16()}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(mxfp4_mlp, computed(inputs), inputs)


def gate_and_linear_part_swapped(inputs):
    packed, *others = inputs["first"]
    return dict(first=(packed.unflatten(1, (-1, 2)).flip(2).flatten(1, 2), *others))


def second_weights_of_another_expert(inputs):
    packed, *others = inputs["second"]
    return dict(second=(packed.roll(1, dims=0), *others))


def no_second_bias(inputs):
    return dict(second=(*inputs["second"][:2], torch.zeros_like(inputs["second"][2])))


def experts_off_by_one(inputs):
    return dict(chosen=(inputs["chosen"] + 1) % 4)


def no_gates(inputs):
    return dict(gates=torch.ones_like(inputs["gates"]))


def tokens_off_by_one(inputs):
    return dict(x=inputs["x"].roll(1, dims=0))


@pytest.mark.parametrize(
    "mutation",
    [
        gate_and_linear_part_swapped,
        second_weights_of_another_expert,
        no_second_bias,
        experts_off_by_one,
        no_gates,
        tokens_off_by_one,
    ],
)
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(mxfp4_mlp, computed(inputs, **mutation(inputs)), inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=3):
        assert not right(mxfp4_mlp, {"out": answer}, inputs)


def test_it_is_one_half_after_the_other(inputs):
    packed, exponents, bias = inputs["first"]
    halves = dict(packed=packed, exponents=exponents, bias=bias)
    middle = mxfp4_swiglu.reference({**inputs, **halves})["out"]
    packed, exponents, bias = inputs["second"]
    rest = dict(packed=packed, exponents=exponents, bias=bias, x=middle)
    wanted = mxfp4_combine.reference({**inputs, **rest})["out"]
    assert torch.equal(mxfp4_mlp.reference(inputs)["out"], wanted)


def test_the_cost_is_that_of_both_halves_without_what_passes_between_them():
    whole = mxfp4_mlp.cost(**CASE)
    first = mxfp4_swiglu.cost(
        **{name: CASE[name] for name in ("tokens", "experts", "hidden", "top_k", "routing")}, columns=128
    )
    second = mxfp4_combine.cost(**CASE)
    assert whole["flops"] == first["flops"] + second["flops"]
    passed, numbers = 2 * 2 * 48 * 64, 4 * 48
    assert whole["bytes"] == first["bytes"] + second["bytes"] - passed - numbers


def test_whether_the_last_expert_is_reached_is_said(inputs):
    assert mxfp4_mlp.reached(inputs) == {"last expert": True}
    assert mxfp4_mlp.reached({**inputs, "chosen": inputs["chosen"].clamp(max=2)}) == {"last expert": False}
