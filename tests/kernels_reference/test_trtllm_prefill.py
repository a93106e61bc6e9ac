import pytest

from workbench.kernels import _paged, trtllm_prefill

torch = pytest.importorskip("torch")

# In the wheels 0.6.8.post1, 0.6.11.post1, 0.6.16, 0.6.18.post1; each has more behind it.
PARAMETERS = (
    "query, kv_cache, workspace_buffer, block_tables, seq_lens, max_q_len, max_kv_len, bmm1_scale, "
    "bmm2_scale, batch_size, cum_seq_lens_q, cum_seq_lens_kv, window_left=-1, out=None, out_dtype=None, "
    "o_sf_scale=None, o_sf_vec_size=None, kv_layout='HND', enable_pdl=None, sinks=None, kv_cache_sf=None, "
    "skip_softmax_threshold_scale_factor=None, uses_shared_paged_kv_idx=True"
)
CASE = dict(batch=3, tokens=25, heads=8, kv_heads=2, head_dim=32, lengths="ragged", page=16)
VARIANTS = [
    dict(prefix=prefix, sinks=sinks, window=window)
    for prefix in (0, 21)
    for sinks in (False, True)
    for window in (-1, 9)
]


@pytest.fixture(autouse=True)
def small_workspace(monkeypatch):
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 10)


@pytest.fixture(params=VARIANTS, ids=str)
def inputs(request):
    return trtllm_prefill.inputs(**CASE, **request.param)


def computed(inputs, **changed):
    """The answer by another way than the reference's, in double precision: token by token, head by head."""
    got = {**inputs, **changed}
    answer = torch.zeros(got["query"].shape, dtype=torch.float64)
    page, group = got["kv"].shape[3], got["query"].shape[1] // got["kv"].shape[2]
    starts, lengths = got["query_starts"].tolist(), got["seq_lens"].tolist()
    for request, length in enumerate(lengths):
        for row in range(starts[request], starts[request + 1]):
            last = length - starts[request + 1] + row
            first = max(0, last - got["window"]) if got["window"] >= 0 else 0
            token = torch.arange(first, last + 1)
            where = got["block_tables"][request].long()[token // page]
            for head in range(answer.shape[1]):
                key, value = (
                    got["kv"][where, which, head // group, token % page].double() for which in (0, 1)
                )
                part = torch.exp(key @ got["query"][row, head].double() * got["scale"])
                sink = torch.exp(got["sinks"][head].double()) if got["sinks"] is not None else 0
                answer[row, head] = part @ value / (part.sum() + sink)
    return {"out": answer.bfloat16()}


def test_bfloat16_rounding_passes(right, inputs):
    assert right(trtllm_prefill, computed(inputs), inputs)


def shifted_page(inputs):
    tables = inputs["block_tables"].clone()
    tables[1, 0] = (tables[1, 0] + 1) % len(inputs["kv"])
    return dict(block_tables=tables)


def one_token_too_many(inputs):
    return dict(seq_lens=inputs["seq_lens"] + 1)  # as a mask that is off by one


def one_token_too_few(inputs):
    return dict(seq_lens=(inputs["seq_lens"] - 1))


def a_window_off_by_one(inputs):
    return dict(window=inputs["window"] + 1 if inputs["window"] >= 0 else 15)


def sinks_shifted_or_made_up(inputs):
    return dict(sinks=torch.full((8,), 3.0) if inputs["sinks"] is None else inputs["sinks"].roll(1))


def requests_in_another_order(inputs):
    return dict(block_tables=inputs["block_tables"].roll(1, dims=0))


def key_and_value_swapped(inputs):
    return dict(kv=inputs["kv"].flip(1))


def heads_dealt_out_in_turn(inputs):
    return dict(query=inputs["query"].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2))


@pytest.mark.parametrize(
    "mutation",
    [
        shifted_page,
        one_token_too_many,
        one_token_too_few,
        a_window_off_by_one,
        sinks_shifted_or_made_up,
        requests_in_another_order,
        key_and_value_swapped,
        heads_dealt_out_in_turn,
    ],
)
def test_a_wrong_answer_is_wrong(right, inputs, mutation):
    assert not right(trtllm_prefill, computed(inputs, **mutation(inputs)), inputs)


def test_a_row_that_was_not_written_is_wrong(right, inputs, broken_rows):
    for answer in broken_rows(computed(inputs)["out"], row=8 * 12 + 5):
        assert not right(trtllm_prefill, {"out": answer}, inputs)


def test_tokens_that_see_what_comes_after_them_are_wrong(right, inputs, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(_paged, "visible", lambda tokens, length, *_: torch.ones(tokens, length, dtype=bool))
        got = trtllm_prefill.reference(inputs)
    assert not right(trtllm_prefill, got, inputs)


def test_the_call_fits(recording, inputs):
    function = recording(PARAMETERS)
    call = trtllm_prefill.prepare(function, inputs)
    answer, got = call(), function.got
    assert answer is got["out"] is call.outputs[0] and answer.shape == inputs["query"].shape
    assert got["kv_cache"] is inputs["kv"] and got["kv_cache"].shape[1] == 2
    new = _paged.request_lengths(3, 25, "ragged")
    assert got["cum_seq_lens_q"].tolist() == [0, new[0], sum(new[:2]), sum(new)]
    assert got["cum_seq_lens_kv"].diff().tolist() == got["seq_lens"].tolist()
    assert (got["max_q_len"], got["max_kv_len"], got["batch_size"]) == (25, max(got["seq_lens"].tolist()), 3)
    assert got.get("sinks") is inputs["sinks"] and got["window_left"] == inputs["window"]
    assert (got["bmm1_scale"], got["bmm2_scale"]) == (CASE["head_dim"] ** -0.5, 1.0)
    assert not got["workspace_buffer"].any()


def test_a_version_without_sinks_cannot_do_a_case_with_them(recording):
    inputs = trtllm_prefill.inputs(**CASE, prefix=0, sinks=True, window=-1)
    with pytest.raises(NotImplementedError, match="sinks"):
        trtllm_prefill.prepare(recording(PARAMETERS.replace("sinks=None, ", "")), inputs)


@pytest.mark.parametrize("tokens, length", [(1, 1), (1, 70), (5, 70), (70, 70), (69, 70)])
@pytest.mark.parametrize("window", [-1, 0, 3, 68, 69, 70, 500])
def test_pairs_and_what_is_read_are_what_the_mask_lets_be_seen(tokens, length, window):
    seen = _paged.visible(tokens, length, window, "cpu")
    assert _paged.pairs(tokens, length, window) == int(seen.sum())
    assert _paged.read(tokens, length, window) == int(seen.any(0).sum())


def test_the_cost_of_a_known_case():
    case = dict(batch=2, tokens=1024, prefix=1024, heads=64, kv_heads=8, head_dim=128, lengths="equal")
    cost = trtllm_prefill.cost(**case, sinks=False, window=-1, page=32)
    assert cost["bytes"] == 2 * (2 * 2048 * 8 * 128 * 2 + 2 * 1024 * 64 * 128 * 2 + 4 * 64)
    assert cost["flops"] == 4 * 2 * (1024 * 1024 + 1024 * 1025 // 2) * 64 * 128


def test_whether_the_last_page_is_read_to_its_end_is_said():
    case = dict(CASE, tokens=32, lengths="equal", prefix=0, sinks=False, window=-1)
    inputs = trtllm_prefill.inputs(**case)
    assert trtllm_prefill.reached(inputs) == {"last page": True}
    assert trtllm_prefill.reached({**inputs, "seq_lens": inputs["seq_lens"] - 32}) == {"last page": False}


def test_it_needs_artifacts():
    assert all(trtllm_prefill.needs_artifacts(sm="10.3", **case) for case in trtllm_prefill.CASES)
