"""trtllm-gen's expert layer against a stand-in that routes, brings rows back into order and unpacks by itself."""

import sys
from enum import IntEnum
from functools import cache
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

import expert_stand_ins as library  # noqa: E402

from workbench.kernels import _logits, trtllm_moe, trtllm_moe_mxfp4  # noqa: E402

EARLIER = (  # 0.6.7
    "routing_logits, routing_bias, hidden_states, hidden_states_scale, gemm1_weights, gemm1_weights_scale, "
    "gemm1_bias, gemm1_alpha, gemm1_beta, gemm1_clamp_limit, gemm2_weights, gemm2_weights_scale, gemm2_bias, "
    "output1_scale_scalar, output1_scale_gate_scalar, output2_scale_scalar, num_experts, top_k, n_group, "
    "topk_group, intermediate_size, local_expert_offset, local_num_experts, routed_scaling_factor, "
    "routing_method_type=0, do_finalize=True, enable_pdl=None, activation_type=3, output=None, "
    "tune_max_num_tokens=8192"
)
# 0.6.11: one more in the middle, and two behind.
LATER = EARLIER.replace("output=None", "per_token_scale=None, output=None")
LATER += ", norm_topk_prob=True, routing_replay_out=None"
SHAPE = dict(tokens=9, experts=16, hidden=256, intermediate=256, top_k=2, routing="uniform")
SHARE = dict(ep_size=2, ep_rank=1)


NAMES = (
    "Default Renormalize DeepSeekV3 Llama4 RenormalizeNaive TopK SigmoidRenorm MiniMax2 Sigmoid TopKSigmoid"
)
RoutingMethodType = IntEnum("RoutingMethodType", NAMES, start=0)  # 0.6.18
BIASED = (RoutingMethodType.DeepSeekV3, RoutingMethodType.MiniMax2)
SAME = ({"renormalize", "renormalize_naive"}, {"llama4", "sigmoid", "topk_sigmoid"})


def order(rows, gated):
    """Any order of rows will do, as long as it is another one; gated ones have up and gate in turns."""
    found = torch.arange(rows)
    found = found.view(2, -1).T.flatten() if gated else found
    return found.view(-1, 2).flip(0).flatten()


@pytest.fixture(autouse=True)
def version(monkeypatch):
    core = ModuleType("flashinfer.fused_moe.core")

    def of_first(_cache_permute_indices, dst_w3_w1_weight, epilogue_tile_m, num_elts_per_sf=None):
        assert (dst_w3_w1_weight.dim(), epilogue_tile_m, _cache_permute_indices) == (2, 128, {})
        return order(len(dst_w3_w1_weight), gated=True)

    def of_second(_cache_permute_indices, dst_w2_weight, epilogue_tile_m, num_elts_per_sf=None):
        assert (dst_w2_weight.dim(), epilogue_tile_m, _cache_permute_indices) == (2, 128, {})
        return order(len(dst_w2_weight), gated=False)

    core._maybe_get_cached_w3_w1_permute_indices = of_first
    core.get_w2_permute_indices_with_cache = of_second
    owner = ModuleType("flashinfer.fused_moe")
    owner.RoutingMethodType, owner.core = RoutingMethodType, core
    for name, module in (("", ModuleType("flashinfer")), (".fused_moe", owner), (".fused_moe.core", core)):
        monkeypatch.setitem(sys.modules, "flashinfer" + name, module)


def routed(logits, bias, kind, top_k, groups, best_groups, scaling):
    """Token by token, with Python's sorting."""
    chosen, gates = [], []
    for row in logits.double():
        weights = before(kind)(row)
        key = (weights + bias.double() if kind in BIASED else weights).tolist()
        if kind == RoutingMethodType.DeepSeekV3:
            size = len(row) // groups
            of_group = [sum(sorted(key[g * size : (g + 1) * size])[-2:]) for g in range(groups)]
            kept = sorted(range(groups), key=lambda g: -of_group[g])[:best_groups]
            key = [each if e // size in kept else -9 for e, each in enumerate(key)]
        best = sorted(range(len(row)), key=lambda e: -key[e])[:top_k]
        mine = after(kind)(weights[best])
        chosen.append(best)
        gates.append(mine * scaling if kind == RoutingMethodType.DeepSeekV3 else mine)
    return torch.tensor(chosen), torch.stack(gates).bfloat16().float()


def before(kind):
    """As the names of the library's policies for all scores."""
    if kind in (RoutingMethodType.Default, RoutingMethodType.RenormalizeNaive):
        return lambda row: row.exp() / row.exp().sum()
    if kind in (*BIASED, RoutingMethodType.SigmoidRenorm, RoutingMethodType.Sigmoid):
        return lambda row: 1 / (1 + (-row).exp())
    return lambda row: row


def after(kind):
    """As the names of its policies for the top k."""
    if kind == RoutingMethodType.Renormalize:
        return lambda best: best.exp() / best.exp().sum()
    if kind in (RoutingMethodType.Llama4, RoutingMethodType.TopKSigmoid):
        return lambda best: 1 / (1 + (-best).exp())
    if kind in (*BIASED, RoutingMethodType.SigmoidRenorm, RoutingMethodType.RenormalizeNaive):
        return lambda best: best / best.sum()
    return lambda best: best


def back(tensor, gated):
    """From the library's order of rows to ours."""
    unordered = torch.empty_like(tensor)
    unordered[:, order(tensor.shape[1], gated)] = tensor
    return unordered


def stored(asked, number, read, group):
    codes, scales = asked[f"gemm{number}_weights"], asked[f"gemm{number}_weights_scale"]
    assert codes.dtype == torch.uint8 and scales.dtype == torch.float8_e4m3fn
    rows, columns = codes.shape[1], codes.shape[2] * 2
    tiles = torch.stack([library.from_tiles(each, rows, columns // group) for each in scales])
    codes, tiles = (back(each, gated=number == 1) for each in (codes, tiles))
    return library.weights(
        len(codes), lambda e: library.scaled(library.codes(codes[e]), read(tiles[e]), group)
    )


def compute(**asked):
    kind = RoutingMethodType(asked["routing_method_type"])
    groups = (asked["n_group"], asked["topk_group"], asked["routed_scaling_factor"])
    logits, bias = asked["routing_logits"], asked["routing_bias"]
    where = (*routed(logits, bias, kind, asked["top_k"], *groups), asked["output"])
    x, scales, offset = asked["hidden_states"], asked["hidden_states_scale"], asked["local_expert_offset"]
    assert asked["num_experts"] == asked["routing_logits"].shape[1]
    if x.dtype == torch.uint8:
        return nvfp4(asked, x, scales, where, offset)
    mxfp8 = scales is not None
    if mxfp8:
        stored_scales = scales.contiguous().view(torch.uint8).view(len(x), -1)
        x = library.scaled(x.float(), library.power_of_two(stored_scales), 32)
    first, second = (stored(asked, number, library.power_of_two, 32) for number in (1, 2))
    names = ("gemm1_alpha", "gemm1_beta", "gemm1_clamp_limit")

    def middle(products, expert):
        act = library.gpt_oss(*(asked[name][expert] for name in names))(products)
        return library.to_mxfp8(act) if mxfp8 else act.bfloat16().float()

    biases = [back(asked[f"gemm{number}_bias"], gated=number == 1) for number in (1, 2)]
    assert all(each.dtype == torch.float32 for each in biases)
    library.layer(x.float(), *where, offset, first, second, middle, biases)


def nvfp4(asked, x, scales, where, offset):
    values = library.e4m3(scales.view(len(x), -1))
    first, second = (stored(asked, number, library.e4m3, 16) for number in (1, 2))
    of_up, of_gate, of_second = (
        asked[f"output{name}_scalar"] for name in ("1_scale", "1_scale_gate", "2_scale")
    )

    def middle(products, expert):
        up, gate = products.chunk(2)
        scaled = torch.cat((up * of_up[expert], gate * of_gate[expert]))
        return library.to_nvfp4(library.silu(scaled), torch.ones(()))

    again = library.weights(second.count, lambda e: second(e) * of_second[e])
    library.layer(library.scaled(library.codes(x), values, 16), *where, offset, first, again, middle)


def of_kind(shape, kind):
    return dict(shape, kind=kind, top_k=1 if kind == "llama4" else shape["top_k"])


CASES = {
    **{f"nvfp4, {kind}": (trtllm_moe, of_kind(SHAPE, kind)) for kind in _logits.KINDS},
    "nvfp4, flat, a share": (trtllm_moe, dict(SHAPE, kind="deepseek_v3", scale_shape="flat", **SHARE)),
    "mxfp8": (trtllm_moe_mxfp4, dict(SHAPE, scheme="mxfp8")),
    "mxfp8, flat": (trtllm_moe_mxfp4, dict(SHAPE, scheme="mxfp8", scale_shape="flat")),
    "mxfp8, padded": (trtllm_moe_mxfp4, dict(SHAPE, scheme="mxfp8", hidden=160, intermediate=224)),
    "bf16, a share": (trtllm_moe_mxfp4, dict(SHAPE, scheme="bf16", **SHARE)),
}


@cache
def drawn(name):
    kernel, case = CASES[name]
    return kernel.inputs(**case)


@pytest.fixture(params=CASES)
def case(request):
    kernel, case = CASES[request.param]
    return kernel, dict(drawn(request.param)), case  # a dictionary of its own: a kernel may put more into it


@pytest.mark.parametrize("parameters", [EARLIER, LATER], ids=["earlier", "later"])
def test_what_is_handed_over_gives_the_answer(case, right, parameters):
    kernel, inputs, _ = case
    call = kernel.prepare(library.stating(parameters, compute), inputs)
    answer = call()
    assert answer is call.outputs[0] and answer.dtype == torch.bfloat16
    assert right(kernel, {"out": answer}, inputs)


def answer(kernel, inputs, **changes):
    handed = {**{name: value for name, value in inputs.items() if name != "converted"}, **changes}
    return {"out": kernel.prepare(library.stating(LATER, compute), handed)()}


def swapped_gate_and_up(inputs):
    names = [name for name in ("first", "first_scales", "first_bias") if name in inputs]
    return {name: torch.cat(inputs[name].chunk(2, dim=1)[::-1], dim=1) for name in names}


def scales_in_our_order(inputs):
    return dict(second_scales=inputs["second_scales"].flip(1))


def another_experts_weights(inputs):
    return dict(second=inputs["second"].roll(1, dims=0))


def logits_of_another_token(inputs):
    return dict(logits=inputs["logits"].roll(1, dims=0))


def rows_off_by_one(inputs):
    return dict(x=inputs["x"].roll(1, dims=0))


MUTATIONS = [
    swapped_gate_and_up,
    scales_in_our_order,
    another_experts_weights,
    logits_of_another_token,
    rows_off_by_one,
]


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_wrong_answer_is_wrong(case, right, mutation):
    kernel, inputs, _ = case
    assert not right(kernel, answer(kernel, inputs, **mutation(inputs)), inputs)


def same(kind, other):
    return any({kind, other} <= each for each in SAME)


@pytest.mark.parametrize("kind", _logits.KINDS)
def test_any_other_routing_is_wrong(right, kind):
    inputs = trtllm_moe.inputs(**of_kind(SHAPE, kind))
    for other in _logits.KINDS:
        assert right(trtllm_moe, answer(trtllm_moe, inputs, kind=other), inputs) == (
            other == kind or same(kind, other)
        ), other


def spread(experts, chosen, gates):
    """Gates [tokens, experts]."""
    return torch.zeros(len(chosen), experts).scatter(1, chosen, gates)


def distance(wanted, got):
    """Of the worst token: about how far the answers are apart, for the experts' layers are independent."""
    return float(((got - wanted).norm(dim=1) / wanted.norm(dim=1)).max())


@pytest.mark.parametrize("case", [each for each in trtllm_moe.CASES if each["tokens"] == 128], ids=str)
def test_the_gates_of_any_other_routing_are_far_off_in_the_cases_that_are_run(case):
    tokens, experts, top_k, kind = (case[each] for each in ("tokens", "experts", "top_k", "kind"))
    chosen = _logits.choose(tokens, experts, top_k, case["routing"], kind)
    drawn = _logits.drawn(torch.Generator().manual_seed(0), chosen, experts, kind)
    gates = {
        other: spread(experts, *_logits.routed(**drawn, kind=other, top_k=top_k)) for other in _logits.KINDS
    }
    for other, got in gates.items():
        if other == kind or same(kind, other):
            assert distance(gates[kind], got) < 1e-5
        else:
            assert distance(gates[kind], got) > 2 * trtllm_moe.TOLERANCE, other
    if kind == "topk":  # as the library's own reference has it
        alike = gates[kind].bool() / top_k
        assert distance(gates[kind], alike) > 2 * trtllm_moe.TOLERANCE


@pytest.mark.parametrize("kind", _logits.BIASED)
def test_a_bias_of_the_routing_that_is_left_out_or_left_in_is_wrong(monkeypatch, right, kind):
    inputs = trtllm_moe.inputs(**of_kind(SHAPE, kind))
    left_out = answer(trtllm_moe, inputs, bias=torch.zeros_like(inputs["bias"]))
    assert not right(trtllm_moe, left_out, inputs)
    right_way = routed

    def left_in(logits, bias, *more):
        chosen, _ = right_way(logits, bias, *more)
        biased = (logits.sigmoid() + bias.float()).gather(1, chosen)
        return chosen, (more[-1] or 1) * biased / biased.sum(dim=1, keepdim=True)

    monkeypatch.setitem(globals(), "routed", left_in)
    assert not right(trtllm_moe, answer(trtllm_moe, inputs), inputs)


@pytest.mark.parametrize("kind", _logits.KINDS)
def test_what_is_said_of_the_routing(kind):
    inputs = trtllm_moe.inputs(**of_kind(SHAPE, kind))
    function = library.stating(LATER, lambda **asked: None)
    trtllm_moe.prepare(function, inputs)()
    got, biased, grouped = function.got, kind in ("deepseek_v3", "minimax2"), kind == "deepseek_v3"
    assert RoutingMethodType(got["routing_method_type"]).name.lower() == kind.replace("_", "")
    assert got["routing_logits"].dtype == (torch.float32 if biased else torch.bfloat16)
    assert got["routing_bias"] is (inputs["bias"] if biased else None)
    assert (got["n_group"], got["topk_group"]) == ((8, 4) if grouped else (None, None))
    assert got["routed_scaling_factor"] == (2.5 if grouped else None)


def test_other_logits_in_their_place_have_the_same_bias():
    one, other = (trtllm_moe.inputs(**of_kind(SHAPE, "minimax2"), seed=seed) for seed in (0, 1))
    assert torch.equal(one["bias"], other["bias"]) and not torch.equal(one["logits"], other["logits"])


def test_a_number_that_means_another_kind_is_not_asked_for(monkeypatch):
    named = dict(Default=0, Renormalize=1, SigmoidRenorm=6, MiniMax2=7, Unspecified=8)  # 0.6.8
    monkeypatch.setattr(sys.modules["flashinfer.fused_moe"], "RoutingMethodType", IntEnum("Earlier", named))
    inputs = trtllm_moe.inputs(**of_kind(SHAPE, "sigmoid"))
    with pytest.raises(NotImplementedError, match=r"no routing Sigmoid: it is there from 0\.6\.11 on"):
        trtllm_moe.prepare(library.stating(LATER, compute), inputs)


@pytest.mark.parametrize("name", ["x_global", "middle_global", "first_global"])
def test_a_global_scale_that_is_off_is_wrong(right, name):
    inputs = trtllm_moe.inputs(**dict(SHAPE, kind="renormalize"))
    changes = {name: inputs[name] * 1.3}
    if name == "middle_global":  # one that is handed over alike on both sides makes no difference
        first, second = trtllm_moe._nvfp4_experts.alphas(inputs)
        asked = dict(output1_scale_scalar=first, output1_scale_gate_scalar=first, output2_scale_scalar=second)
        function = library.stating(LATER, lambda **given: compute(**{**given, **asked}))
        assert not right(trtllm_moe, {"out": trtllm_moe.prepare(function, inputs)()}, inputs)
    else:
        assert not right(trtllm_moe, answer(trtllm_moe, inputs, **changes), inputs)


@pytest.mark.parametrize("name", ["first_bias", "second_bias"])
@pytest.mark.parametrize("scheme", ["mxfp8", "bf16"])
def test_a_bias_left_out_is_wrong(right, scheme, name):
    inputs = trtllm_moe_mxfp4.inputs(**dict(SHAPE, scheme=scheme))
    got = answer(trtllm_moe_mxfp4, inputs, **{name: torch.zeros_like(inputs[name])})
    assert not right(trtllm_moe_mxfp4, got, inputs)


def test_scales_of_x_in_both_shapes_are_the_same_memory():
    for shape, wanted in (("rows", (9, 16)), ("flat", (144,))):
        inputs = trtllm_moe.inputs(**dict(SHAPE, kind="default", scale_shape=shape))
        function = library.stating(LATER, lambda **asked: None)
        trtllm_moe.prepare(function, inputs)()
        got = function.got["hidden_states_scale"]
        assert (got.shape, got.dtype) == (wanted, torch.float8_e4m3fn)
        assert got.data_ptr() == inputs["x_scales"].data_ptr(), "or other values copied in are not seen"


@pytest.mark.parametrize("kind", _logits.KINDS)
def test_logits_lead_to_the_experts_that_the_cost_counts(kind):
    top_k = 1 if kind == "llama4" else 8
    wanted = _logits.choose(64, 64, top_k, "skewed", kind)
    inputs = trtllm_moe.inputs(
        tokens=64, experts=64, hidden=64, intermediate=64, top_k=top_k, routing="skewed", kind=kind
    )
    chosen, gates = _logits.routed(inputs["logits"], inputs["bias"], kind, top_k)
    assert [set(row) for row in chosen.tolist()] == [set(row) for row in wanted]
    assert float(gates.min()) > 1 / 64


def test_deepseek_takes_experts_from_half_of_the_groups():
    for row in _logits.choose(64, 256, 8, "uniform", "deepseek_v3"):
        assert len(set(row)) == 8 and len({expert // 32 for expert in row}) <= 4


def test_a_part_is_the_first_rows(case):
    kernel, whole, _ = case
    part = kernel.part(whole, 5)
    for name in kernel.VARIES:
        assert part[name].data_ptr() == whole[name].data_ptr()
    assert torch.allclose(kernel.reference(part)["out"], kernel.reference(whole)["out"][:5], atol=1e-4)


@pytest.mark.parametrize("kernel", [trtllm_moe, trtllm_moe_mxfp4])
def test_the_kernels_are_fetched(kernel):
    assert kernel.needs_artifacts(sm="10.0") and kernel.needs_artifacts(sm="12.0")
