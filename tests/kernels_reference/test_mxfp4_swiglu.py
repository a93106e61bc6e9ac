import pytest

from workbench.kernels import _fp4, _mxfp4_experts, mxfp4_swiglu

torch = pytest.importorskip("torch")

CASE = dict(tokens=24, experts=4, hidden=128, columns=256, top_k=2, routing="uniform")


@pytest.fixture
def inputs():
    return mxfp4_swiglu.inputs(**CASE)


def computed(inputs, packed=None, exponents=None, bias=None, products=lambda y: y, source=lambda rows: rows):
    """The answer by another way than the reference's: pair by pair; each argument may spoil it."""
    packed = inputs["packed"] if packed is None else packed
    exponents = inputs["exponents"] if exponents is None else exponents
    bias = inputs["bias"] if bias is None else bias
    weights = _fp4.mx_dequantize(packed, exponents)
    pairs = [(e, t) for t, row in enumerate(inputs["chosen"].tolist()) for e in row]
    pairs.sort(key=lambda pair: pair[0])
    tokens = source(torch.tensor([token for _, token in pairs]))
    rows = [weights[e] @ inputs["x"][t].float() + bias[e] for (e, _), t in zip(pairs, tokens, strict=True)]
    gate, linear = products(torch.stack(rows)).unflatten(-1, (-1, 2)).unbind(-1)
    gate, linear = gate.clamp(max=7.0), linear.clamp(-7.0, 7.0)
    return {"out": (gate / (1 + torch.exp(-1.702 * gate)) * (linear + 1)).bfloat16()}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(mxfp4_swiglu, computed(inputs), inputs)


def test_the_limit_is_met_by_the_inputs(inputs):
    weights = _fp4.mx_dequantize(inputs["packed"], inputs["exponents"])
    beyond = (inputs["x"].float() @ weights.transpose(1, 2)).abs() > _mxfp4_experts.LIMIT
    assert 0.005 < float(beyond.float().mean()) < 0.05


@pytest.mark.parametrize(
    "spoiled",
    [
        dict(
            products=lambda y: y.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        ),  # gate and linear part swapped
        dict(products=lambda y: torch.cat(y.chunk(2, dim=-1)[::-1], dim=-1)),  # halves instead of pairs
        dict(source=lambda rows: rows.roll(1)),  # gather off by one
        dict(source=lambda rows: rows.clamp(max=len(rows) // 2 - 2)),  # the last token read as the one before
    ],
    ids=["swapped", "halves", "gather", "last token"],
)
def test_a_wrong_answer_is_wrong(right, inputs, spoiled):
    assert not right(mxfp4_swiglu, computed(inputs, **spoiled), inputs)


@pytest.mark.parametrize("name", ["packed", "exponents", "bias"])
def test_dropped_and_shifted_parts_are_wrong(right, inputs, name):
    one = {"packed": 0x22, "exponents": 127, "bias": 0}[name]
    dropped = torch.full_like(inputs[name], one)
    assert not right(mxfp4_swiglu, computed(inputs, **{name: dropped}), inputs)
    assert not right(mxfp4_swiglu, computed(inputs, **{name: inputs[name].roll(1, dims=0)}), inputs)
    assert not right(mxfp4_swiglu, computed(inputs, **{name: inputs[name].roll(1, dims=-1)}), inputs)


def test_one_group_scale_too_large_by_two_is_wrong(right, inputs):
    exponents = inputs["exponents"].clone()
    exponents[:, :, -1] += 1  # the last groups along K, where a padding fault would show
    assert not right(mxfp4_swiglu, computed(inputs, exponents=exponents), inputs)


def test_an_unkept_limit_is_wrong(right, inputs, monkeypatch):
    got = mxfp4_swiglu.reference(inputs)
    monkeypatch.setattr(_mxfp4_experts, "LIMIT", 1e9)
    assert not right(mxfp4_swiglu, got, inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=3):
        assert not right(mxfp4_swiglu, {"out": answer}, inputs)


def test_an_expert_without_tokens_is_no_trouble(right):
    inputs = mxfp4_swiglu.inputs(**{**CASE, "tokens": 1})
    assert right(mxfp4_swiglu, computed(inputs), inputs)


def test_the_seed_changes_values_and_leaves_the_routing():
    one, same, other = (mxfp4_swiglu.inputs(seed=seed, **CASE) for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["packed"], other["packed"]) and torch.equal(one["chosen"], other["chosen"])


def test_the_cost_counts_only_the_experts_that_have_tokens():
    case = dict(tokens=1, experts=128, hidden=2880, columns=5760, top_k=4, routing="uniform")
    cost = mxfp4_swiglu.cost(**case)
    weights = 4 * (5760 * 2880 * 17 // 32 + 4 * 5760)
    assert cost["bytes"] == weights + 2 * 2880 + 4 * 5760 + 4 * 4
    assert cost["flops"] == 2 * 4 * 5760 * 2880


def test_padded_scales_are_a_case_of_their_own_and_change_no_reference(inputs):
    padded = mxfp4_swiglu.inputs(**CASE, pad_scales=True)
    assert "pad_scales" not in inputs and padded.pop("pad_scales")
    assert torch.equal(mxfp4_swiglu.reference(padded)["out"], mxfp4_swiglu.reference(inputs)["out"])
    assert all("pad_scales" not in case for case in mxfp4_swiglu.CASES)
    assert mxfp4_swiglu.cost(**CASE, pad_scales=True) == mxfp4_swiglu.cost(**CASE)


@pytest.mark.parametrize("groups, wanted", [(90, 92), (96, 96), (1, 4)])
def test_scales_are_padded_to_a_multiple_of_four_groups(groups, wanted):
    exponents = torch.full((2, 3, groups), 127, dtype=torch.uint8)
    padded = _mxfp4_experts.padded(exponents)
    assert padded.shape == (2, 3, wanted) and torch.equal(padded[..., :groups], exponents)


def test_whether_the_last_expert_is_reached_is_said(inputs):
    assert mxfp4_swiglu.reached(inputs) == {"last expert": True}
    assert mxfp4_swiglu.reached({**inputs, "chosen": inputs["chosen"].clamp(max=2)}) == {"last expert": False}
