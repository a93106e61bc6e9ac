import pytest

from workbench.kernels import _fp4, mxfp4_combine

torch = pytest.importorskip("torch")

CASE = dict(tokens=24, experts=4, intermediate=128, hidden=96, top_k=2, routing="uniform")


@pytest.fixture
def inputs():
    return mxfp4_combine.inputs(**CASE)


def computed(inputs, left_out=None, **changed):
    """The answer by another way than the reference's: token by token, choice by choice, rounded at each step."""
    got = {**inputs, **changed}
    weights = _fp4.mx_dequantize(got["packed"], got["exponents"])
    pairs = [(e, t, c) for t, row in enumerate(inputs["chosen"].tolist()) for c, e in enumerate(row)]
    pairs.sort(key=lambda pair: pair[0])
    answer = torch.zeros(len(inputs["chosen"]), weights.shape[1])
    for place, (expert, token, choice) in enumerate(pairs):
        if (token, choice) != left_out:
            product = weights[expert] @ got["x"][place].float() + got["bias"][expert]
            answer[token] += (got["gates"][token, choice] * product).bfloat16()
    return {"out": answer.bfloat16()}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(mxfp4_combine, computed(inputs), inputs)


def rows_put_back_to_another_token(inputs):
    return dict(x=inputs["x"].roll(1, dims=0))


def gates_of_another_choice(inputs):
    return dict(gates=inputs["gates"].flip(-1))


def no_gates(inputs):
    return dict(gates=torch.ones_like(inputs["gates"]))


def gates_of_another_token(inputs):
    return dict(gates=inputs["gates"].roll(1, dims=0))


def no_bias(inputs):
    return dict(bias=torch.zeros_like(inputs["bias"]))


def biases_of_another_expert(inputs):
    return dict(bias=inputs["bias"].roll(1, dims=0))


def weights_of_another_expert(inputs):
    return dict(packed=inputs["packed"].roll(1, dims=0))


def scales_shifted_along_a_row(inputs):
    return dict(exponents=inputs["exponents"].roll(1, dims=-1))


def last_groups_too_large_by_two(inputs):
    exponents = inputs["exponents"].clone()
    exponents[:, :, -1] += 1  # where a padding fault would show
    return dict(exponents=exponents)


@pytest.mark.parametrize(
    "mutation",
    [
        rows_put_back_to_another_token,
        gates_of_another_choice,
        no_gates,
        gates_of_another_token,
        no_bias,
        biases_of_another_expert,
        weights_of_another_expert,
        scales_shifted_along_a_row,
        last_groups_too_large_by_two,
    ],
)
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(mxfp4_combine, computed(inputs, **mutation(inputs)), inputs)


def test_one_choice_left_out_of_one_token_is_wrong(right, inputs):
    left_out = 7, int(inputs["gates"][7].argmin())
    assert not right(mxfp4_combine, computed(inputs, left_out), inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=3):
        assert not right(mxfp4_combine, {"out": answer}, inputs)


def test_padded_scales_change_no_reference(inputs):
    padded = mxfp4_combine.inputs(**CASE, pad_scales=True)
    assert torch.equal(mxfp4_combine.reference(padded)["out"], mxfp4_combine.reference(inputs)["out"])
    assert mxfp4_combine.cost(**CASE, pad_scales=True) == mxfp4_combine.cost(**CASE)


def test_the_slices_of_ranks_are_there():
    of_120b = {case["intermediate"] for case in mxfp4_combine.CASES if case["experts"] == 128}
    assert of_120b == {2880, 1472, 768, 384}


def test_the_cost_counts_only_the_experts_that_have_tokens():
    case = dict(tokens=1, experts=128, intermediate=2880, hidden=2880, top_k=4, routing="uniform")
    cost = mxfp4_combine.cost(**case)
    assert cost["bytes"] == 4 * (2880 * 2880 * 17 // 32 + 4 * 2880) + 2 * 4 * 2880 + 2 * 2880 + 8 * 4
    assert cost["flops"] == 2 * 4 * 2880 * 2880


def test_whether_the_last_expert_is_reached_is_said(inputs):
    assert mxfp4_combine.reached(inputs) == {"last expert": True}
    assert mxfp4_combine.reached({**inputs, "chosen": inputs["chosen"].clamp(max=2)}) == {
        "last expert": False
    }
