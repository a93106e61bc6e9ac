import pytest

from workbench.kernels import trtllm_attention

torch = pytest.importorskip("torch")

# The same in the wheels 0.6.8.post1 and 0.6.11.post1.
PARAMETERS = (
    "query, kv_cache, workspace_buffer, block_tables, seq_lens, max_seq_len, bmm1_scale=1.0, bmm2_scale=1.0, "
    "window_left=-1, out=None, out_dtype=None, o_sf_scale=None, o_sf_vec_size=None, sinks=None, "
    "kv_layout='HND', enable_pdl=None, backend='auto', q_len_per_req=1, o_scale=1.0, mask=None, "
    "max_q_len=None, cum_seq_lens_q=None, skip_softmax_threshold_scale_factor=None, kv_cache_sf=None, "
    "uses_shared_paged_kv_idx=True"
)
CASE = dict(batch=3, length=70, heads=8, kv_heads=2, head_dim=32, page=16, backend="auto")
VARIANTS = [dict(lengths=lengths, sinks=sinks) for lengths in ("equal", "ragged") for sinks in (False, True)]


@pytest.fixture(params=VARIANTS, ids=str)
def inputs(request, monkeypatch):
    monkeypatch.setattr(trtllm_attention, "WORKSPACE_BYTES", 1 << 20)
    return trtllm_attention.inputs(**CASE, **request.param)


def computed(inputs, **changed):
    """The answer by another way than the reference's, in double precision: head by head, token by token."""
    got = {**inputs, **changed}
    answer = torch.zeros(got["query"].shape, dtype=torch.float64)
    page, group = got["key"].shape[2], got["query"].shape[1] // got["key"].shape[1]
    for request, length in enumerate(got["seq_lens"].tolist()):
        token = torch.arange(length)
        where = got["block_tables"][request].long()[token // page]
        for head in range(answer.shape[1]):
            key = got["key"][where, head // group, token % page].double()
            value = got["value"][where, head // group, token % page].double()
            part = torch.exp(key @ got["query"][request, head].double() * got["scale"])
            whole = part.sum() + (torch.exp(got["sinks"][head].double()) if got["sinks"] is not None else 0)
            answer[request, head] = part @ value / whole
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
    query = inputs["query"].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    return dict(query=query)


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
    lengths = trtllm_attention.request_lengths(16, 8192, "ragged")
    assert (max(lengths), min(lengths), len(set(lengths))) == (8192, 4097, 16)
    assert sum(length % 32 != 0 for length in lengths) > 10
    with pytest.raises(ValueError, match="ragged"):
        trtllm_attention.request_lengths(1, 1, "other")


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
    needing = [
        case["backend"]
        for case in trtllm_attention.CASES
        if trtllm_attention.needs_artifacts(sm="9.0", **case)
    ]
    assert set(needing) == {"trtllm-gen"}


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
