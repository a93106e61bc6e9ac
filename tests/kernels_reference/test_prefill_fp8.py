"""Prefill over a cache of e4m3 codes: references by another way, roundings, mutations and calls."""

import pytest

from workbench.kernels import (
    _paged,
    _prefill,
    batch_prefill_fp8,
    batch_prefill_fp8_cache,
    fmha_v2_prefill_fp8,
    trtllm_prefill,
    trtllm_prefill_fp8,
)

torch = pytest.importorskip("torch")

CASE = dict(batch=3, tokens=25, heads=8, kv_heads=2, head_dim=32, lengths="ragged", page=16)
VARIANTS = [
    dict(prefix=prefix, sinks=sinks, window=window, scales=scales)
    for prefix, sinks, window, scales in (
        (0, False, -1, "tensor"),
        (21, False, 9, "tensor"),
        (0, True, 9, "tensor"),
        (21, True, -1, "tensor"),
        (0, False, 9, "heads"),
        (21, False, -1, "heads"),
    )
]
PLAIN = dict(CASE, prefix=21, sinks=False, window=-1)
# In the wheels 0.6.8.post1 and 0.6.11.post1; each has more behind it.
TRTLLM = (
    "query, kv_cache, workspace_buffer, block_tables, seq_lens, max_q_len, max_kv_len, bmm1_scale, bmm2_scale, "
    "batch_size, cum_seq_lens_q, cum_seq_lens_kv, window_left=-1, out=None, out_dtype=None, sinks=None"
)
FMHA_V2 = (
    "qkv, input_layout, workspace_buffer, seq_lens, max_q_len, max_kv_len, bmm1_scale, bmm2_scale, batch_size, "
    "cum_seq_lens_q, cum_seq_lens_kv, block_tables=None, out=None, out_dtype=None, sinks=None, "
    "mask_mode='causal', window_left=-1"
)
SCALES = ("q_scale", "k_scale", "v_scale")
KERNELS = (trtllm_prefill_fp8, fmha_v2_prefill_fp8, batch_prefill_fp8, batch_prefill_fp8_cache)


@pytest.fixture(autouse=True)
def small_workspace(monkeypatch):
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 10)


@pytest.fixture(params=VARIANTS, ids=str)
def inputs(request):
    return trtllm_prefill_fp8.inputs(**CASE, **request.param)


@pytest.fixture(params=[each for each in VARIANTS if each["scales"] == "tensor"], ids=str)
def cached(request):
    """With a bfloat16 query, as fa2 takes it."""
    return batch_prefill_fp8_cache.inputs(**CASE, **request.param, backend="fa2")


def of_head(scale, head):
    return 1.0 if scale is None else float(scale[head]) if isinstance(scale, torch.Tensor) else scale


def computed(given, probabilities=None, **changed):
    """The answer by another way than the reference's: token by token, head by head, codes first and scales after.

    `probabilities` is the type that they are rounded to, and what 1 becomes in it.
    """
    got = {**given, **changed}
    answer = torch.zeros(got["query"].shape, dtype=torch.float64)
    page, group = got["kv"].shape[3], got["query"].shape[1] // got["kv"].shape[2]
    starts, lengths = got["query_starts"].tolist(), got["seq_lens"].tolist()
    for request, length in enumerate(lengths):
        for row in range(starts[request], starts[request + 1]):
            last = length - starts[request + 1] + row + got.get("later", 0)
            first = max(0, last - got["window"]) if got["window"] >= 0 else 0
            token = torch.arange(first, min(last + 1, got["block_tables"].shape[1] * page))
            if not len(token):
                continue
            where = got["block_tables"][request].long()[token // page]
            for head in range(answer.shape[1]):
                key, value = (
                    got["kv"][where, which, head // group, token % page].double() for which in (0, 1)
                )
                scale = got["scale"] * of_head(got["q_scale"], head) * of_head(got["k_scale"], head // group)
                logits = key @ got["query"][row, head].double() * scale
                top = logits.max()
                part = torch.exp(logits - top)
                whole = part.sum()
                if got["sinks"] is not None:
                    whole += torch.exp(got["sinks"][head].double() - top)
                if probabilities is not None:
                    kind, one = probabilities
                    part = (part * one).float().to(kind).double() / one
                answer[row, head] = part @ value / whole * of_head(got["v_scale"], head // group)
    return {"out": answer.bfloat16()}


ROUNDED = {"fp8": (torch.float8_e4m3fn, 448), "bf16": (torch.bfloat16, 1)}


def test_what_the_library_rounds_passes(right, inputs):
    assert inputs["query"].dtype == inputs["kv"].dtype == torch.float8_e4m3fn
    assert right(trtllm_prefill_fp8, computed(inputs), inputs)
    assert right(trtllm_prefill_fp8, computed(inputs, ROUNDED["fp8"]), inputs)


def test_a_bfloat16_query_passes_with_the_tolerance_of_a_bfloat16_cache(right, cached):
    assert cached["query"].dtype == torch.bfloat16 and cached["q_scale"] is None
    got = (
        computed(cached, ROUNDED["bf16"], v_scale=1.0)["out"] * cached["v_scale"]
    )  # rounded before and after
    assert right(batch_prefill_fp8_cache, {"out": got}, cached)


def test_probabilities_in_e4m3_are_too_coarse_for_a_bfloat16_query(right):
    given = batch_prefill_fp8_cache.inputs(**PLAIN, backend="fa2")
    assert not right(batch_prefill_fp8_cache, computed(given, ROUNDED["fp8"]), given)


def without(name):
    def lost(given):
        return {name: 1.0}

    lost.__name__ = f"lost_{name}"
    return lost


def scale_of_keys_for_that_of_values(given):
    return dict(k_scale=given["v_scale"], v_scale=given["k_scale"])


def scale_of_values_for_that_of_keys_alone(given):
    return dict(k_scale=given["v_scale"])


def scale_of_keys_for_that_of_values_alone(given):
    return dict(v_scale=given["k_scale"])


def scale_of_values_twice(given):
    return dict(v_scale=given["v_scale"] * given["v_scale"])


def shifted_page(given):
    tables = given["block_tables"].clone()
    tables[1, 0] = (tables[1, 0] + 1) % len(given["kv"])
    return dict(block_tables=tables)


def last_token_left_out(given):
    return dict(later=-1, window=given["window"] - 1 if given["window"] >= 0 else -1)


def one_token_too_many(given):
    return dict(later=1)


def a_window_off_by_one(given):
    return dict(window=given["window"] + 1 if given["window"] >= 0 else 15)


def requests_in_another_order(given):
    return dict(block_tables=given["block_tables"].roll(1, dims=0))


def key_and_value_swapped(given):
    return dict(kv=given["kv"].flip(1))


def heads_dealt_out_in_turn(given):
    return dict(query=given["query"].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2))


MUTATIONS = [
    without("k_scale"),
    without("v_scale"),
    scale_of_keys_for_that_of_values,
    scale_of_values_for_that_of_keys_alone,
    scale_of_keys_for_that_of_values_alone,
    scale_of_values_twice,
    shifted_page,
    last_token_left_out,
    one_token_too_many,
    a_window_off_by_one,
    requests_in_another_order,
    key_and_value_swapped,
    heads_dealt_out_in_turn,
]


@pytest.mark.parametrize("mutation", [without("q_scale"), *MUTATIONS])
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(trtllm_prefill_fp8, computed(inputs, **mutation(inputs)), inputs)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_wrong_answer_to_a_bfloat16_query_is_wrong(right, cached, mutation):
    assert not right(batch_prefill_fp8_cache, computed(cached, **mutation(cached)), cached)


def test_a_row_that_was_not_written_is_wrong(right, broken_rows):
    given = trtllm_prefill_fp8.inputs(**PLAIN)
    for answer in broken_rows(computed(given)["out"], row=8 * 12 + 5):
        assert not right(trtllm_prefill_fp8, {"out": answer}, given)


def rounded_by_tiles(given, width=128):
    """Of one request, as fa3 does it: from the last tile of keys on, each by the maximum that was seen until then."""
    query, length = given["query"].float(), int(given["seq_lens"][0])
    key, value = (
        _paged.sequence(given["kv"][:, which], given["block_tables"][0], length) for which in (0, 1)
    )
    key, value = (each.repeat_interleave(query.shape[1] // len(key), 0) for each in (key, value))
    logits = query.transpose(0, 1) @ key.mT * (given["scale"] * given["q_scale"] * given["k_scale"])
    logits = logits.masked_fill(~_paged.visible(len(query), length, given["window"], "cpu"), -torch.inf)
    top = torch.full((*logits.shape[:2], 1), -1e30)
    whole, answer = torch.zeros_like(top), torch.zeros(*logits.shape[:2], query.shape[2])
    for start in reversed(range(0, length, width)):
        tile = slice(start, start + width)
        before, top = top, torch.maximum(top, logits[..., tile].amax(-1, keepdim=True))
        part, shrunk = (logits[..., tile] - top).exp(), (before - top).exp()
        codes = (part * 448).to(torch.float8_e4m3fn).float()
        whole, answer = whole * shrunk + part.sum(-1, keepdim=True), answer * shrunk + codes @ value[:, tile]
    return (answer / whole / 448).transpose(0, 1).bfloat16() * given["v_scale"]


@pytest.mark.parametrize("window", [-1, 127])
def test_fp8_rounding_of_a_long_prompt_is_what_the_tolerance_says(right, window):
    case = dict(batch=1, tokens=1024, prefix=0, heads=16, kv_heads=2, head_dim=64, lengths="equal")
    given = trtllm_prefill_fp8.inputs(**case, sinks=False, window=window, page=32)
    got = rounded_by_tiles(given)
    assert right(trtllm_prefill_fp8, {"out": got}, given)
    wanted = trtllm_prefill_fp8.reference(given)["out"]
    off = (got - wanted).norm(dim=-1) / wanted.norm(dim=-1)
    assert 2e-2 < off.median() < 3e-2 < off.max() < 6e-2


def a_token_too_few(given):
    return dict(seq_lens=given["seq_lens"] - 1)


@pytest.mark.parametrize(
    "mutation, window",
    [
        (shifted_page, -1),
        (a_token_too_few, -1),
        (requests_in_another_order, -1),
        (key_and_value_swapped, -1),
        (a_window_off_by_one, 127),
    ],
)
def test_among_thousands_of_tokens_a_wrong_answer_is_wrong_too(right, mutation, window):
    case = dict(batch=2, tokens=64, prefix=4032, heads=16, kv_heads=2, head_dim=64, lengths="equal")
    given = trtllm_prefill_fp8.inputs(**case, sinks=False, window=window, page=32)
    assert not right(trtllm_prefill_fp8, trtllm_prefill_fp8.reference({**given, **mutation(given)}), given)


def test_a_call_of_trtllm_gen_has_all_scales_in_its_two(recording):
    given = trtllm_prefill_fp8.inputs(**dict(PLAIN, sinks=True, window=9))
    function = recording(TRTLLM)
    answer, got = trtllm_prefill_fp8.prepare(function, given)(), function.got
    assert got["query"] is given["query"] and got["kv_cache"] is given["kv"]
    assert got["bmm1_scale"] == pytest.approx(32**-0.5 * (13 / 640) * (11 / 640))
    assert got["bmm2_scale"] == 7 / 320 and got["window_left"] == 9 and got["sinks"] is given["sinks"]
    assert answer is got["out"] and answer.dtype == torch.bfloat16 and answer.shape == given["query"].shape
    with pytest.raises(NotImplementedError, match="sinks"):
        trtllm_prefill_fp8.prepare(recording(TRTLLM.replace(", sinks=None", "")), given)


@pytest.mark.parametrize("window", [-1, 9])
def test_a_call_of_fmha_v2(recording, window):
    given = fmha_v2_prefill_fp8.inputs(**dict(PLAIN, window=window))
    function = recording(FMHA_V2)
    answer, got = fmha_v2_prefill_fp8.prepare(function, given)(), function.got
    assert got["qkv"] == (given["query"], given["kv"]) and got["input_layout"] == "Q_PAGED_KV_HND"
    assert got["mask_mode"] == ("causal" if window < 0 else "sliding_window") and got["window_left"] == window
    assert (got["bmm1_scale"], got["bmm2_scale"]) == (32**-0.5 * (13 / 640) * (11 / 640), 7 / 320)
    assert answer is got["out"] and answer.dtype == torch.bfloat16


@pytest.mark.parametrize("more", [dict(scales="heads"), dict(q="bf16")], ids=str)
def test_what_the_trtllm_functions_do_not_take_is_said(recording, more):
    given = trtllm_prefill_fp8.inputs(**PLAIN, **more)
    for kernel, parameters in ((trtllm_prefill_fp8, TRTLLM), (fmha_v2_prefill_fp8, FMHA_V2)):
        with pytest.raises(NotImplementedError, match="one scale a tensor"):
            kernel.prepare(recording(parameters), given)


class Wrapper:
    """Keeps what it is made, planned and run with."""

    def __init__(self, **made):
        type(self).made = made

    def plan(self, **plan):
        type(self).planned = plan

    def run(self, *by_place, **by_name):
        type(self).ran = by_place, by_name


@pytest.mark.parametrize("kernel, backend", [(batch_prefill_fp8, "fa3"), (batch_prefill_fp8_cache, "fa2")])
def test_a_call_of_the_wrapper_has_its_scales_by_name(kernel, backend):
    given = kernel.inputs(**dict(PLAIN, window=9), backend=backend)
    answer = kernel.prepare(Wrapper, given)()
    plan, (by_place, by_name) = Wrapper.planned, Wrapper.ran
    assert Wrapper.made["backend"] == backend and Wrapper.made["kv_layout"] == "HND"
    kind = torch.float8_e4m3fn if backend == "fa3" else torch.bfloat16
    assert (plan["q_data_type"], plan["kv_data_type"]) == (kind, torch.float8_e4m3fn)
    assert plan["o_data_type"] == answer.dtype == torch.bfloat16 and plan["causal"] is True
    assert plan["window_left"] == 9 and plan["sm_scale"] == 32**-0.5 and plan["page_size"] == 16
    assert by_place == (given["query"], given["kv"]) and by_name.pop("out") is answer
    wanted = dict(zip(SCALES, (13 / 640, 11 / 640, 7 / 320), strict=True))
    assert by_name == (wanted if backend == "fa3" else {name: wanted[name] for name in SCALES[1:]})


def test_scales_of_heads_go_by_place_and_are_of_heads_and_of_heads_of_keys():
    given = batch_prefill_fp8.inputs(**PLAIN, backend="fa3", scales="heads")
    batch_prefill_fp8.prepare(Wrapper, given)()
    (_, _, *scales), by_name = Wrapper.ran
    assert [len(scale) for scale in scales] == [8, 2, 2] and list(by_name) == ["out"]
    assert all(scale is given[name] for scale, name in zip(scales, SCALES, strict=True))
    assert [float(scale[0] / scale[-1]) for scale in scales] == pytest.approx([2, 2, 2])
    with pytest.raises(NotImplementedError, match="fp8 query"):
        cached = batch_prefill_fp8_cache.inputs(**PLAIN, backend="fa2", scales="heads")
        batch_prefill_fp8_cache.prepare(Wrapper, cached)


@pytest.mark.parametrize("kernel", [batch_prefill_fp8, batch_prefill_fp8_cache])
def test_the_wrapper_is_not_asked_for_sinks(kernel):
    with pytest.raises(NotImplementedError, match="sinks"):
        kernel.prepare(Wrapper, kernel.inputs(**dict(PLAIN, sinks=True), backend="fa2"))
    assert not any(case["sinks"] for case in kernel.CASES)


def test_other_scales_are_refused():
    with pytest.raises(ValueError, match="'tensor' or 'heads'"):
        trtllm_prefill_fp8.inputs(**PLAIN, scales="block")


def test_codes_stand_for_the_values_that_the_kernels_without_codes_get():
    plain, given = trtllm_prefill.inputs(**PLAIN), trtllm_prefill_fp8.inputs(**PLAIN)
    off = (given["kv"].float() * (11 / 640) - plain["kv"].float())[:, 0].abs()
    assert bool((off <= plain["kv"][:, 0].float().abs() / 16 + 1e-4).all())
    off = (given["query"].float() * (13 / 640) - plain["query"].float()).abs()
    assert bool((off <= plain["query"].float().abs() / 16 + 1e-4).all())


def test_the_cost_has_a_byte_for_each_code():
    case = dict(batch=2, tokens=1024, prefix=1024, heads=64, kv_heads=8, head_dim=128, lengths="equal")
    case.update(sinks=False, window=-1, page=32)
    cost = trtllm_prefill_fp8.cost(**case)
    assert cost["bytes"] == 2 * (2 * 2048 * 8 * 128 + (1 + 2) * 1024 * 64 * 128 + 4 * 64)
    assert cost["flops"] == _prefill.cost(**case)["flops"] and cost["unit"] == "fp8"
    cached = batch_prefill_fp8_cache.cost(**case, backend="fa2")
    assert cached["bytes"] == cost["bytes"] + 2 * 1024 * 64 * 128 and cached["unit"] == "bf16"


def test_a_window_costs_what_it_lets_be_seen():
    case = dict(batch=1, tokens=64, prefix=1024, heads=64, kv_heads=8, head_dim=128, lengths="equal", page=32)
    cost = trtllm_prefill_fp8.cost(**case, sinks=False, window=127)
    assert cost["bytes"] == 2 * 191 * 8 * 128 + 3 * 64 * 64 * 128 + 4 * 6


def test_it_needs_artifacts():
    assert all(trtllm_prefill_fp8.needs_artifacts(sm="10.3", **case) for case in trtllm_prefill_fp8.CASES)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_the_last_page_is_read_to_its_end(kernel):
    backend = {"backend": "fa3"} if "backend" in kernel.CASES[0] else {}
    given = kernel.inputs(**dict(PLAIN, tokens=32, prefix=0, lengths="equal"), **backend)
    assert kernel.reached(given) == {"last page": True}
