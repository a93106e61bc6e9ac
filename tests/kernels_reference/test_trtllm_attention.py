"""The decode kernels, over a bfloat16 cache and over an fp8 one."""

import pytest

from workbench.kernels import _decode, _paged, trtllm_attention, trtllm_attention_fp8

torch = pytest.importorskip("torch")

PARAMETERS = (  # the same in the wheels 0.6.8.post1 and 0.6.11.post1; later ones have more behind them
    "query, kv_cache, workspace_buffer, block_tables, seq_lens, max_seq_len, bmm1_scale=1.0, bmm2_scale=1.0, "
    "window_left=-1, out=None, out_dtype=None, o_sf_scale=None, o_sf_vec_size=None, sinks=None, "
    "kv_layout='HND', enable_pdl=None, backend='auto', q_len_per_req=1, o_scale=1.0, mask=None, "
    "max_q_len=None, cum_seq_lens_q=None, skip_softmax_threshold_scale_factor=None, kv_cache_sf=None, "
    "uses_shared_paged_kv_idx=True"
)
CASE = dict(batch=3, length=70, heads=8, kv_heads=2, head_dim=32, page=16, backend="auto")
VARIANTS = [dict(lengths=lengths, sinks=sinks) for lengths in ("equal", "ragged") for sinks in (False, True)]
VARIANTS += [
    dict(lengths="ragged", sinks=True, window=20),
    dict(lengths="ragged", sinks=False, q_len=3),
    dict(lengths="ragged", sinks=True, q_len=3, window=20),
]


@pytest.fixture(autouse=True)
def small_workspace(monkeypatch):
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 20)


@pytest.fixture(params=VARIANTS, ids=str)
def inputs(request):
    return trtllm_attention.inputs(**CASE, **request.param)


def computed(inputs, **changed):
    """The answer by another way than the reference's, in double precision: head by head, token by token."""
    got = {**inputs, **changed}
    answer = torch.zeros(got["query"].shape, dtype=torch.float64)
    page, group, q_len = got["key"].shape[2], got["query"].shape[1] // got["key"].shape[1], got["q_len"]
    for row in range(len(answer)):
        last = got["seq_lens"].tolist()[row // q_len] - q_len + row % q_len
        first = max(0, last - got["window"]) if got["window"] >= 0 else 0
        token = torch.arange(first, last + 1)
        where = got["block_tables"][row // q_len].long()[token // page]
        for head in range(answer.shape[1]):
            key, value = (
                got[name].float()[where, head // group, token % page].double() * got["kv_scale"]
                for name in ("key", "value")
            )
            part = torch.exp(key @ got["query"][row, head].double() * got["scale"])
            whole = part.sum() + (torch.exp(got["sinks"][head].double()) if got["sinks"] is not None else 0)
            answer[row, head] = part @ value / whole
    return {"out": answer.bfloat16()}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(trtllm_attention, computed(inputs), inputs)


def shifted_page(inputs):
    tables = inputs["block_tables"].clone()
    tables[1, 2] = (tables[1, 2] + 1) % len(inputs["key"])
    return dict(block_tables=tables)


def pages_in_order(inputs):
    tables = inputs["block_tables"]
    return dict(block_tables=torch.arange(tables.numel()).reshape(tables.shape))


def last_token_left_out(inputs):
    return dict(seq_lens=inputs["seq_lens"] - 1)


def heads_dealt_out_in_turn(inputs):
    return dict(query=inputs["query"].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2))


def a_window_off_by_one(inputs):
    return dict(window=inputs["window"] + 1 if inputs["window"] >= 0 else 40)


def no_scale(inputs):
    return dict(scale=1.0)


def key_and_value_swapped(inputs):
    return dict(key=inputs["value"], value=inputs["key"])


@pytest.mark.parametrize(
    "mutation",
    [
        shifted_page,
        pages_in_order,
        last_token_left_out,
        heads_dealt_out_in_turn,
        a_window_off_by_one,
        no_scale,
        key_and_value_swapped,
    ],
)
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(trtllm_attention, computed(inputs, **mutation(inputs)), inputs)


def test_sinks_left_out_or_shifted_are_wrong(right):
    inputs = trtllm_attention.inputs(**CASE, lengths="equal", sinks=True)
    assert not right(trtllm_attention, computed(inputs, sinks=None), inputs)
    assert not right(trtllm_attention, computed(inputs, sinks=inputs["sinks"].roll(1)), inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=5):
        assert not right(trtllm_attention, {"out": answer}, inputs)


def test_a_page_among_8192_tokens_is_seen(right):
    case = dict(CASE, batch=1, length=8192, head_dim=64)
    inputs = trtllm_attention.inputs(**case, lengths="equal", sinks=False)
    tables = inputs["block_tables"].clone()
    tables[0, 300] = tables[0, 301]
    got = trtllm_attention.reference({**inputs, "block_tables": tables})
    assert not right(trtllm_attention, got, inputs)


def test_no_page_is_used_twice_and_none_lies_where_it_would_by_chance():
    tables = trtllm_attention.inputs(**CASE, lengths="equal", sinks=False)["block_tables"]
    assert sorted(tables.flatten().tolist()) == list(range(15))
    assert tables.flatten().tolist() != list(range(15))


def test_ragged_lengths_go_from_the_length_to_half_of_it():
    lengths = _paged.request_lengths(16, 8192, "ragged")
    assert (max(lengths), min(lengths), len(set(lengths))) == (8192, 4097, 16)
    assert sum(length % 32 != 0 for length in lengths) > 10
    with pytest.raises(ValueError, match="ragged"):
        _paged.request_lengths(1, 1, "other")


def test_the_call_fits(recording, inputs):
    function = recording(PARAMETERS)
    call = trtllm_attention.prepare(function, inputs)
    answer = call()
    got = function.got
    assert answer is got["out"] is call.outputs[0] and answer.shape == inputs["query"].shape
    assert not got["workspace_buffer"].any() and got["workspace_buffer"].numel() == 1 << 20
    assert got["block_tables"].dtype == got["seq_lens"].dtype == torch.int32
    assert (got["backend"], got["max_seq_len"], got["bmm2_scale"]) == ("auto", 70, 1.0)
    assert got.get("sinks") is inputs["sinks"] and isinstance(got["kv_cache"], tuple)
    assert all(tensor.is_contiguous() for tensor in got["kv_cache"])


def test_a_version_without_out_allocates_by_itself(recording, inputs):
    function = recording(PARAMETERS.replace("out=None, ", "", 1), answer="its own")
    call = trtllm_attention.prepare(function, inputs)
    assert call() == "its own" and not hasattr(call, "outputs")


def test_only_trtllm_gen_needs_artifacts():
    cases = trtllm_attention.CASES
    needing = [case["backend"] for case in cases if trtllm_attention.needs_artifacts(sm="10.0", **case)]
    assert set(needing) == {"trtllm-gen", "auto"}
    others = [case for case in cases if case["backend"] != "trtllm-gen"]
    assert not any(trtllm_attention.needs_artifacts(sm="9.0", **case) for case in others)


@pytest.mark.parametrize("sm", ["9.0", "12.1"])
def test_trtllm_gen_by_name_is_unsupported_where_it_has_nothing(sm):
    case = next(case for case in trtllm_attention.CASES if case["backend"] == "trtllm-gen")
    with pytest.raises(NotImplementedError, match="SM90"):
        trtllm_attention.needs_artifacts(sm=sm, **case)


def test_the_cost_of_a_known_case():
    case = dict(batch=64, length=8192, heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False)
    cost = trtllm_attention.cost(**case, page=32, backend="auto")
    assert cost["bytes"] == 2 * 64 * 8192 * 8 * 128 * 2 + 2 * 64 * 64 * 128 * 2 + 4 * 64 * 256
    assert cost["flops"] == 4 * 64 * 8192 * 64 * 128


def test_whether_the_last_page_is_read_to_its_end_is_said():
    case = dict(batch=3, length=64, heads=4, kv_heads=2, head_dim=16, lengths="equal", sinks=False)
    inputs = trtllm_attention.inputs(**case, page=16, backend="auto")
    assert trtllm_attention.reached(inputs) == {"last page": True}
    assert trtllm_attention.reached({**inputs, "seq_lens": inputs["seq_lens"] - 64}) == {"last page": False}
    request = int((inputs["block_tables"] == 11).nonzero()[0, 0])
    inputs["seq_lens"][request] = 15  # not even its first page
    assert trtllm_attention.reached(inputs) == {"last page": False}


def test_new_tokens_that_see_each_other_or_none_before_are_wrong(right):
    inputs = trtllm_attention.inputs(**CASE, lengths="ragged", sinks=False, q_len=3)
    rows = computed(inputs)["out"].unflatten(0, (-1, 3))
    for wrong in (rows.roll(1, dims=1), rows[:, :1].expand(-1, 3, -1, -1), rows[:, 2:].expand(-1, 3, -1, -1)):
        assert not right(trtllm_attention, {"out": wrong.flatten(0, 1)}, inputs)


@pytest.mark.parametrize("q_len", [2, 16, 33])
def test_the_mask_has_a_bit_for_each_new_token_up_to_its_own(q_len):
    mask = _decode.causal_mask(2, q_len, "cpu")
    assert mask.dtype == torch.uint16 and mask.shape == (2, q_len, 2 * -(-q_len // 32))
    words = mask[1].to(torch.int64)
    for row in range(q_len):
        bits = sum(int(word) << 16 * place for place, word in enumerate(words[row]))
        assert bits == 2 ** (row + 1) - 1


def test_several_new_tokens_are_said_to_the_call_with_a_mask(recording):
    inputs = trtllm_attention.inputs(**CASE, lengths="equal", sinks=False, q_len=3)
    function = recording(PARAMETERS)
    trtllm_attention.prepare(function, inputs)()
    assert function.got["q_len_per_req"] == 3 and function.got["mask"].shape == (3, 3, 2)
    assert len(function.got["query"]) == 9
    without = recording(PARAMETERS.replace("mask=None, ", ""))
    with pytest.raises(NotImplementedError, match="mask"):
        trtllm_attention.prepare(without, inputs)


def test_a_window_is_said_to_the_call(recording):
    for window in (-1, 20):
        inputs = trtllm_attention.inputs(**CASE, lengths="equal", sinks=False, window=window)
        function = recording(PARAMETERS)
        trtllm_attention.prepare(function, inputs)()
        assert function.got["window_left"] == window


def test_semaphores_left_over_are_all_of_the_first_bytes_and_no_others(recording, monkeypatch):
    monkeypatch.setattr(_decode, "SEMAPHORE_BYTES", 1 << 19)
    inputs = trtllm_attention.inputs(**CASE, lengths="equal", sinks=False, semaphores="left over")
    function = recording(PARAMETERS)
    trtllm_attention.prepare(function, inputs)()
    workspace = function.got["workspace_buffer"]
    assert bool((workspace[: 1 << 19] == 0xFF).all()) and not workspace[1 << 19 :].any()


def test_an_answer_of_the_call_before_is_wrong_as_soon_as_inputs_change(right):
    before, now = (
        trtllm_attention.inputs(seed=seed, **CASE, lengths="equal", sinks=False) for seed in (0, 1)
    )
    assert right(trtllm_attention, computed({**now, "query": now["query"]}), now)
    assert not right(trtllm_attention, computed({**now, "query": before["query"]}), now)


FP8 = [dict(lengths="ragged", sinks=sinks, window=window) for sinks in (False, True) for window in (-1, 20)]


@pytest.fixture(params=FP8, ids=str)
def fp8(request):
    return trtllm_attention_fp8.inputs(**CASE, **request.param)


def rounded(inputs):
    """Query and probabilities as e4m3, as a kernel that computes in fp8 has them."""
    query = inputs["query"].to(torch.float8_e4m3fn).bfloat16()
    answers = []
    for row, length in enumerate(inputs["seq_lens"].tolist()):
        key, value = (
            _paged.sequence(inputs[name], inputs["block_tables"][row], length) for name in ("key", "value")
        )
        seen = _paged.visible(1, length, inputs["window"], "cpu")
        grouped = query[row].float().unflatten(0, (len(key), -1))
        logits = (grouped @ key.transpose(1, 2) * inputs["scale"] * inputs["kv_scale"]).masked_fill(
            ~seen, -torch.inf
        )
        top = logits.amax(-1, keepdim=True)
        part = (logits - top).exp()
        whole = part.sum(-1, keepdim=True)
        if inputs["sinks"] is not None:
            whole = whole + (inputs["sinks"].reshape(len(key), -1, 1) - top).exp()
        part = (part * 448).to(torch.float8_e4m3fn).float() / 448
        answers.append((part @ value / whole).flatten(0, 1) * inputs["kv_scale"])
    return {"out": torch.stack(answers).bfloat16()}


def test_fp8_rounding_passes_over_an_fp8_cache_and_not_over_another(right, fp8):
    assert fp8["key"].dtype == torch.float8_e4m3fn and fp8["kv_scale"] != 1
    assert right(trtllm_attention_fp8, computed(fp8), fp8)
    got = rounded(fp8)
    assert right(trtllm_attention_fp8, got, fp8) and not right(trtllm_attention, got, fp8)


@pytest.mark.parametrize("length", [1024, 8192])
def test_fp8_rounding_of_long_sequences_is_what_the_tolerance_says(right, length):
    case = dict(batch=2, length=length, heads=32, kv_heads=4, head_dim=128, lengths="equal", sinks=False)
    inputs = trtllm_attention_fp8.inputs(**case, page=32, backend="auto")
    assert right(trtllm_attention_fp8, rounded(inputs), inputs)


def lost_scale(inputs):
    return dict(kv_scale=1.0)


def lost_scale_of_the_keys(inputs):
    return dict(scale=inputs["scale"] / inputs["kv_scale"])


@pytest.mark.parametrize(
    "mutation",
    [
        shifted_page,
        pages_in_order,
        last_token_left_out,
        heads_dealt_out_in_turn,
        key_and_value_swapped,
        lost_scale,
        lost_scale_of_the_keys,
    ],
)
def test_a_wrong_answer_is_wrong_over_an_fp8_cache(right, fp8, mutation):
    assert not right(trtllm_attention_fp8, computed(fp8, **mutation(fp8)), fp8)


def test_sinks_left_out_are_wrong_over_an_fp8_cache(right):
    inputs = trtllm_attention_fp8.inputs(**CASE, lengths="equal", sinks=True)
    assert not right(trtllm_attention_fp8, computed(inputs, sinks=None), inputs)


def test_the_scale_of_an_fp8_cache_goes_into_both_products(recording, fp8):
    function = recording(PARAMETERS)
    trtllm_attention_fp8.prepare(function, fp8)()
    assert function.got["bmm2_scale"] == fp8["kv_scale"] == _decode.FP8_SCALE
    assert function.got["bmm1_scale"] == pytest.approx(32**-0.5 * _decode.FP8_SCALE)


def test_the_cost_counts_what_a_window_lets_be_seen_and_new_tokens():
    case = dict(batch=64, length=8192, heads=64, kv_heads=8, head_dim=128, lengths="equal", sinks=False)
    case.update(page=32, backend="auto")
    windowed = trtllm_attention.cost(**case, window=127)
    assert windowed["flops"] == 4 * 64 * 128 * 64 * 128
    assert windowed["bytes"] == 2 * 64 * 128 * 8 * 128 * 2 + 2 * 64 * 64 * 128 * 2 + 4 * 64 * 4
    several = trtllm_attention.cost(**case, q_len=2)
    assert several["flops"] == 4 * 64 * (8192 + 8191) * 64 * 128
    plain, fp8 = trtllm_attention.cost(**case), trtllm_attention_fp8.cost(**case)
    assert plain["bytes"] - fp8["bytes"] == 2 * 64 * 8192 * 8 * 128 and fp8["unit"] == "fp8"
