import sys
from types import ModuleType, SimpleNamespace

import pytest

from workbench import gpus
from workbench.kernels import _ranks, allreduce_fusion

torch = pytest.importorskip("torch")

PLAIN = (
    "backend='auto', world_size=None, rank=None, max_token_num=None, hidden_dim=None, dtype=None, "
    "gpus_per_node=None, comm_backend=None, force_oneshot_support=False"
)
FUSION = (
    "input, workspace, pattern, launch_with_pdl=False, trigger_completion_at_end=True, output=None, "
    "residual_out=None, norm_out=None, quant_out=None, scale_out=None, residual_in=None, rms_gamma=None, "
    "rms_eps=1e-06, scale_factor=None, layout_code=None, use_oneshot=None, fp32_acc=False, "
    "moe_reduction_device_num_experts=None, moe_reduction_scale_input=None, "
    "moe_reduction_active_experts_token_input=None, moe_reduction_token_input=None, "
    "expanded_idx_to_permuted_idx=None, expert_scale_factor=None, shared_expert_output=None"
)
QUANT = f"{FUSION}, block_quant_group_size=None"
WHEELS = {  # create_allreduce_fusion_workspace, allreduce_fusion, where TorchDistBackend is
    "0.6.8.post1": (PLAIN, FUSION, "mnnvl"),
    "0.6.9": (PLAIN, FUSION, "mnnvl"),
    "0.6.10": (PLAIN, FUSION, "mnnvl"),
    "0.6.10.post1": (f"{PLAIN}, group=None", FUSION, "mnnvl"),
    "0.6.11.post1": (f"{PLAIN}, group=None", QUANT, "mnnvl"),
    "0.6.16": (f"{PLAIN}, group=None", f"{QUANT}, weight_bias=0.0", "comm_backend"),
}
CASE = dict(ranks=4, bystanders=0, tokens=6, hidden=256, implementation="flashinfer", strategy="oneshot")


@pytest.fixture(autouse=True)
def third_of_four(monkeypatch):
    monkeypatch.setattr(_ranks, "rank", lambda: 2)
    monkeypatch.setattr(_ranks, "group", lambda ranks: f"group of {ranks}")


@pytest.fixture(params=WHEELS)
def library(request, monkeypatch, recording):
    """A package that looks like flashinfer.comm of that version and computes nothing."""
    create, fusion, place = WHEELS[request.param]
    comm = ModuleType("flashinfer.comm")
    comm.__path__ = []
    comm.create_allreduce_fusion_workspace = recording(create, answer="the workspace")
    comm.AllReduceFusionPattern = SimpleNamespace(kARResidualRMSNorm=1)
    backend = ModuleType(f"flashinfer.comm.{place}")
    backend.TorchDistBackend = lambda group: f"backend of {group}"
    jit, built = ModuleType("flashinfer.jit.comm"), []
    jit.gen_trtllm_comm_module = lambda: SimpleNamespace(build_and_load=lambda: built.append(1))
    comm.built = built
    found = {"flashinfer": ModuleType("flashinfer"), "flashinfer.jit": ModuleType("flashinfer.jit")}
    found |= {module.__name__: module for module in (comm, backend, jit)}
    for name, module in found.items():
        monkeypatch.setitem(sys.modules, name, module)
    return SimpleNamespace(version=request.param, comm=comm, function=recording(fusion))


def inputs(**more):
    return allreduce_fusion.inputs(**{**CASE, "group": "none", **more})


def computed(got, **changed):
    """The answer by another way than the reference's: element by element in Python's own numbers, then rounded."""
    got = {**got, **changed}
    rows = got["residual"].double().tolist()
    for share in got["shares"].double().tolist():
        rows = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(rows, share, strict=True)]
    gamma, normed = got["gamma"].double().tolist(), []
    for row in rows:
        size = (sum(value * value for value in row) / len(row) + changed.get("eps", 1e-6)) ** 0.5
        normed.append([value / size * factor for value, factor in zip(row, gamma, strict=True)])
    return {name: torch.tensor(each).bfloat16() for name, each in (("residual", rows), ("norm", normed))}


def test_bfloat16_rounding_passes(right):
    assert right(allreduce_fusion, computed(inputs()), inputs())


def test_a_sum_kept_in_bfloat16_passes(right):
    got = inputs(ranks=8)
    summed = got["shares"][0]
    for share in got["shares"][1:]:
        summed = summed + share
    summed = summed + got["residual"]
    norm = torch.nn.functional.rms_norm(summed, (256,), got["gamma"], 1e-6)
    assert summed.dtype == torch.bfloat16
    assert right(allreduce_fusion, {"residual": summed, "norm": norm}, got)


def a_share_left_out(got):
    return dict(shares=got["shares"][1:])


def a_share_twice(got):
    return dict(shares=torch.cat((got["shares"], got["shares"][:1])))


def no_residual(got):
    return dict(residual=torch.zeros_like(got["residual"]))


def no_gamma(got):
    return dict(gamma=torch.ones_like(got["gamma"]))


def gamma_as_a_difference_from_one(got):
    return dict(gamma=got["gamma"] + 1)


def rows_of_another_rank_shifted(got):
    shares = got["shares"].clone()
    shares[3] = shares[3].roll(1, 0)
    return dict(shares=shares)


def one_element_of_one_rank(got):
    shares = got["shares"].clone()
    shares[1, 4, 17] += 4
    return dict(shares=shares)


def a_large_eps(got):
    return dict(eps=1.0)


@pytest.mark.parametrize(
    "mutation",
    [
        a_share_left_out,
        a_share_twice,
        no_residual,
        no_gamma,
        gamma_as_a_difference_from_one,
        rows_of_another_rank_shifted,
        one_element_of_one_rank,
        a_large_eps,
    ],
)
def test_a_wrong_answer_is_wrong(right, mutation):
    got = inputs()
    assert not right(allreduce_fusion, computed(got, **mutation(got)), got)


@pytest.mark.parametrize("name", ["residual", "norm"])
def test_a_row_that_was_not_written_is_wrong(right, broken_rows, name):
    got = inputs()
    answer = computed(got)
    for broken in broken_rows(answer[name], row=3):
        assert not right(allreduce_fusion, {**answer, name: broken}, got)


def test_the_two_answers_swapped_are_wrong(right):
    answer = computed(inputs())
    assert not right(allreduce_fusion, {"residual": answer["norm"], "norm": answer["residual"]}, inputs())


def test_shares_differ_from_each_other_and_with_the_seed():
    one, other = inputs(), inputs(seed=1)
    assert len({tuple(share[0, :8].tolist()) for share in [*one["shares"], *other["shares"]]}) == 8
    assert torch.equal(one["shares"], inputs()["shares"])


@pytest.mark.parametrize("strategy", ["oneshot", "twoshot"])
def test_the_call_fits_every_version(library, strategy):
    got = inputs(strategy=strategy)
    call = allreduce_fusion.prepare(library.function, got)
    residual, norm = call()
    asked = library.function.got
    assert asked["use_oneshot"] is (strategy == "oneshot")
    assert asked["input"].data_ptr() == got["shares"][2].data_ptr() and asked["input"].is_contiguous()
    assert asked["residual_in"] is got["residual"] and asked["rms_gamma"] is got["gamma"]
    assert (asked["workspace"], asked["pattern"], asked["rms_eps"]) == ("the workspace", 1, 1e-6)
    assert asked["residual_out"] is residual is call.outputs[0]
    assert asked["norm_out"] is norm is call.outputs[1]
    created = library.comm.create_allreduce_fusion_workspace.got
    assert created == dict(
        backend="trtllm", world_size=4, rank=2, max_token_num=6, hidden_dim=256, dtype=torch.bfloat16
    )


def test_the_group_is_given_where_the_version_takes_one(library):
    prepare = lambda: allreduce_fusion.prepare(library.function, inputs(group="group"))  # noqa: E731
    if library.version in ("0.6.8.post1", "0.6.9", "0.6.10"):
        with pytest.raises(NotImplementedError, match="takes no group"):
            prepare()
        return
    prepare()
    created = library.comm.create_allreduce_fusion_workspace.got
    assert created["group"] == "group of 4" and "comm_backend" not in created


def test_the_backend_is_found_where_the_version_has_it(library):
    allreduce_fusion.prepare(library.function, inputs(group="comm_backend"))
    created = library.comm.create_allreduce_fusion_workspace.got
    assert created["comm_backend"] == "backend of group of 4" and "group" not in created


def test_the_module_is_built_by_itself(library):
    allreduce_fusion.build()
    assert library.comm.built == [1]


def test_the_peer_is_right(right, monkeypatch):
    got = inputs(implementation="nccl")
    others = got["shares"][[0, 1, 3]].sum(0, dtype=torch.float32)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda out, group: out.add_(others))
    result = allreduce_fusion.prepare(None, got)()
    assert right(allreduce_fusion, allreduce_fusion.outputs(result, got), got)
    again = allreduce_fusion.prepare(None, got)
    again()
    assert right(allreduce_fusion, allreduce_fusion.outputs(again(), got), got)  # in place, but of a copy


def test_the_floor_of_a_known_case_is_that_of_the_link():
    case = next(case for case in allreduce_fusion.CASES if case["tokens"] == 8192)
    cost = allreduce_fusion.cost(**case)
    assert cost["link_bytes"] == 64 << 20
    assert gpus.floor_us(cost, "NVIDIA H200") == pytest.approx((64 << 20) / 0.45e6, rel=1e-4)
    assert gpus.floor_us(cost, "NVIDIA RTX PRO 6000") == pytest.approx(cost["bytes"] / 1.792e6, rel=1e-4)


def test_twoshot_has_more_tokens_than_ranks():
    assert all(
        case["tokens"] > case["ranks"] for case in allreduce_fusion.CASES if case["strategy"] == "twoshot"
    )
