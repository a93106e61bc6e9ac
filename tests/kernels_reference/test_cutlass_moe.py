import sys
from types import ModuleType

import pytest

from workbench.kernels import cutlass_moe

torch = pytest.importorskip("torch")

# The same in the wheels 0.6.8.post1 and 0.6.11.post1.
PARAMETERS = (
    "input, token_selected_experts, token_final_scales, fc1_expert_weights, fc2_expert_weights, "
    "output_dtype, quant_scales, fc1_expert_biases=None, fc2_expert_biases=None, input_sf=None, "
    "swiglu_alpha=None, swiglu_beta=None, swiglu_limit=None, tp_size=1, tp_rank=0, ep_size=1, "
    "ep_rank=0, cluster_size=1, cluster_rank=0, output=None, enable_alltoall=False, "
    "use_deepseek_fp8_block_scale=False, "
    "use_w4_group_scaling=False, use_mxfp8_act_scaling=False, min_latency_mode=False, "
    "use_packed_weights=False, tune_max_num_tokens=8192, enable_pdl=None, "
    "activation_type=ActivationType.Swiglu, swizzled_input_sf=True"
)
CASE = dict(tokens=12, experts=8, hidden=64, intermediate=48, top_k=6, routing="uniform")


@pytest.fixture
def inputs():
    return cutlass_moe.inputs(**CASE)


def computed(inputs, left_out=None, **changed):
    """Token by token, the middle and every partial sum rounded to bfloat16, as the kernel may do it."""
    got = {**inputs, **changed}
    answer = torch.zeros_like(got["x"])
    for token, experts in enumerate(got["chosen"].tolist()):
        for choice, expert in enumerate(experts):
            if (token, choice) == left_out:
                continue
            up, gate = (got["first"][expert].float() @ got["x"][token].float()).chunk(2)
            middle = (up * gate / (1 + torch.exp(-gate))).bfloat16().float()
            part = got["gates"][token, choice] * (got["second"][expert].float() @ middle)
            answer[token] += part.bfloat16()
    return {"out": answer}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(cutlass_moe, computed(inputs), inputs)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_share_of_the_experts(right, rank):
    inputs = cutlass_moe.inputs(**CASE, ep_size=2, ep_rank=rank)
    mine = range(4 * rank, 4 * rank + 4)
    assert len(inputs["first"]) == 4 and len(set(inputs["chosen"].flatten().tolist())) == 8
    whole = {**inputs, **{name: inputs[name].repeat(2, 1, 1) for name in ("first", "second")}}
    others = torch.tensor([[each not in mine for each in row] for row in inputs["chosen"].tolist()])
    whole["gates"] = inputs["gates"].masked_fill(others, 0)
    assert right(cutlass_moe, computed(whole), inputs)
    assert not right(cutlass_moe, computed({**whole, "gates": inputs["gates"]}), inputs)
    asked = {}
    cutlass_moe.prepare(lambda **given: asked.update(given), inputs)()
    assert (asked["ep_size"], asked["ep_rank"]) == (2, rank)


def test_the_cost_of_a_share_counts_its_experts_alone():
    shape = dict(tokens=64, experts=32, hidden=64, intermediate=64, top_k=4, routing="uniform")
    whole = cutlass_moe.cost(**shape)
    shares = [cutlass_moe.cost(**shape, ep_size=4, ep_rank=rank) for rank in range(4)]
    assert sum(share["flops"] for share in shares) == whole["flops"]
    assert all(share["bytes"] < whole["bytes"] for share in shares)
    with pytest.raises(ValueError, match="no equal share"):
        cutlass_moe.cost(**shape, ep_size=5)


def test_a_share_that_is_reached_has_its_own_last_expert():
    inputs = cutlass_moe.inputs(**CASE, ep_size=2, ep_rank=0)
    assert cutlass_moe.reached(inputs) == {"last expert": True}
    assert cutlass_moe.reached({**inputs, "chosen": inputs["chosen"].clamp(min=4)}) == {"last expert": False}


def swapped_gate_and_up(inputs):
    up, gate = inputs["first"].chunk(2, dim=1)
    return dict(first=torch.cat((gate, up), dim=1))


def interleaved_gate_and_up(inputs):
    return dict(first=inputs["first"].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2))


def gather_off_by_one(inputs):
    return dict(x=inputs["x"].roll(1, dims=0))


def last_token_of_another(inputs):
    x = inputs["x"].clone()
    x[-1] = x[-2]
    return dict(x=x)


def experts_off_by_one(inputs):
    return dict(chosen=(inputs["chosen"] + 1) % 8)


def dropped_gates(inputs):
    return dict(gates=torch.ones_like(inputs["gates"]))


def gates_of_another_choice(inputs):
    return dict(gates=inputs["gates"].roll(1, dims=-1))


@pytest.mark.parametrize(
    "mutation",
    [
        swapped_gate_and_up,
        interleaved_gate_and_up,
        gather_off_by_one,
        last_token_of_another,
        experts_off_by_one,
        dropped_gates,
        gates_of_another_choice,
    ],
)
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(cutlass_moe, computed(inputs, **mutation(inputs)), inputs)


def test_one_expert_left_out_of_one_token_is_wrong(right, inputs):
    assert not right(cutlass_moe, computed(inputs, left_out=(7, int(inputs["gates"][7].argmin()))), inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=3):
        assert not right(cutlass_moe, {"out": answer}, inputs)


def test_skewed_routing_with_idle_experts_is_no_trouble(right):
    inputs = cutlass_moe.inputs(**{**CASE, "experts": 32, "top_k": 4, "tokens": 4, "routing": "skewed"})
    assert right(cutlass_moe, computed(inputs), inputs)


def test_the_seed_changes_values_and_leaves_the_routing():
    one, same, other = (cutlass_moe.inputs(seed=seed, **CASE) for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["first"], other["first"]) and torch.equal(one["chosen"], other["chosen"])
    assert not torch.equal(one["first"][0], one["first"][1])


def test_gates_sum_to_one_and_none_is_slight():
    gates = cutlass_moe.inputs(**CASE)["gates"]
    assert torch.allclose(gates.sum(dim=-1), torch.ones(12)) and float(gates.min()) > 1 / 16


def test_the_call_fits(recording, inputs):
    function = recording(PARAMETERS)
    call = cutlass_moe.prepare(function, inputs)
    answer = call()
    got = function.got
    assert answer is got["output"] is call.outputs[0]
    assert (got["output_dtype"], answer.shape) == (torch.bfloat16, inputs["x"].shape)
    assert got["quant_scales"] is None and got["token_selected_experts"].dtype == torch.int32
    assert got["fc1_expert_weights"].shape == (8, 96, 64) and got["fc2_expert_weights"].shape == (8, 64, 48)


def test_the_cost_counts_only_the_experts_that_have_tokens():
    shape = dict(experts=32, hidden=2880, intermediate=2880, top_k=4, routing="uniform")
    cost = cutlass_moe.cost(tokens=1, **shape)
    assert cost["bytes"] == 4 * 3 * 2880 * 2880 * 2 + 2 * 2880 * 2 + 4 * 8
    assert cost["flops"] == 6 * 4 * 2880 * 2880


def test_whether_the_last_expert_is_reached_is_said():
    first = torch.empty(4, 1)
    chosen = torch.tensor([[0, 3], [1, 2]])
    assert cutlass_moe.reached(dict(chosen=chosen, first=first)) == {"last expert": True}
    assert cutlass_moe.reached(dict(chosen=chosen % 3, first=first)) == {"last expert": False}


def test_each_product_has_its_tactic_and_the_library_its_own_choice_back(monkeypatch):
    tuner = type("AutoTuner", (), dict(choose_one="its own"))
    for name in ("flashinfer", "flashinfer.autotuner"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["flashinfer.autotuner"].AutoTuner = tuner
    taken = []

    def function(**asked):
        taken.extend(tuner().choose_one("moe", ["runner"], gemm_idx=number) for number in (1, 2))

    cutlass_moe.prepare(function, cutlass_moe.inputs(**CASE, tactics=[3, 5]))()
    assert taken == [("runner", 3), ("runner", 5)] and tuner.choose_one == "its own"
