"""The wrappers and fmha_v2 on the cases of the trtllm attention functions, by signatures as the wheels have them."""

import inspect
import sys
from types import ModuleType

import pytest

from workbench.kernels import _decode, _paged, batch_decode, batch_prefill, fmha_v2_prefill, trtllm_prefill

torch = pytest.importorskip("torch")

DECODE_PLAN = "indptr, indices, last_page_len, num_qo_heads, num_kv_heads, head_dim, page_size, "
OPTIONS = (
    "pos_encoding_mode='NONE', window_left=-1, logits_soft_cap=None, q_data_type='float16', "
    "kv_data_type=None, o_data_type=None, data_type=None, sm_scale=None, rope_scale=None, rope_theta=None, "
    "non_blocking=True, block_tables=None, seq_lens=None, fixed_split_size=None, disable_split_kv=False"
)
DECODE = {  # what plan takes; 0.6.16 hides the options
    "0.6.8.post1": DECODE_PLAN + OPTIONS,
    "0.6.16": DECODE_PLAN + "*deprecated_positional_args, **kwargs",
}
DECODE_RUN = (
    "q, paged_kv_cache, *args, q_scale=None, k_scale=None, v_scale=None, out=None, lse=None, "
    "return_lse=False, enable_pdl=None, window_left=None, sinks=None, q_len_per_req=1"
)
PREFILL_PLAN = (
    "qo_indptr, paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len, num_qo_heads, num_kv_heads, "
    "head_dim_qk, page_size, head_dim_vo=None, custom_mask=None, packed_custom_mask=None, causal=False, "
    "pos_encoding_mode='NONE', use_fp16_qk_reduction=False, sm_scale=None, window_left=-1, "
    "logits_soft_cap=None, rope_scale=None, rope_theta=None, q_data_type='float16', kv_data_type=None"
)
PREFILL_RUN = (
    "q, paged_kv_cache, *args, q_scale=None, k_scale=None, v_scale=None, out=None, lse=None, "
    "return_lse=False, enable_pdl=None, window_left=None, sinks=None"
)
SINK_MADE = (
    "float_workspace_buffer, kv_layout='NHD', use_cuda_graph=False, qo_indptr_buf=None, "
    "paged_kv_indptr_buf=None, paged_kv_indices_buf=None, paged_kv_last_page_len_buf=None, "
    "custom_mask_buf=None, mask_indptr_buf=None, backend='auto', pos_encoding_mode='NONE', "
    "use_fp16_qk_reduction=False, q_data_type='bf16', kv_data_type='bf16', head_dim_qk=128, "
    "head_dim_vo=128, window_left=-1"
)
FMHA_V2 = (
    "qkv, input_layout, workspace_buffer, seq_lens, max_q_len, max_kv_len, bmm1_scale, bmm2_scale, batch_size, "
    "cum_seq_lens_q, cum_seq_lens_kv, block_tables=None, out=None, out_dtype=None, sinks=None, "
    "pos_encoding_mode=None, logits_soft_cap_scale=None, mask_mode='causal', window_left=-1, "
    "chunked_attention_size=0, save_softmax_stats=False, skip_softmax_threshold_scale_factor=0"
)
SHAPE = dict(batch=3, heads=8, kv_heads=2, head_dim=32, page=16, lengths="ragged")


@pytest.fixture(autouse=True)
def small_workspace(monkeypatch):
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 10)


def wrapper(made, plan, run):
    """A class with these parameters that keeps what it was made, planned and run with."""

    def kept(parameters, name):
        scope = {}
        exec(f"def stated({parameters}): pass", scope)
        signature = inspect.signature(scope["stated"])

        def method(self, *args, **named):
            bound = signature.bind(*args, **named).arguments
            type(self).got[name] = {**bound, **bound.pop("kwargs", {})}

        return method

    names = {"__init__": kept(made, "made"), "plan": kept(plan, "plan"), "run": kept(run, "run"), "got": {}}
    return type("Wrapper", (), names)


MADE = "float_workspace_buffer, kv_layout='NHD', use_cuda_graph=False, {}backend='auto', jit_args=None"


@pytest.fixture
def with_sinks(monkeypatch):
    """The wrapper that is made for sinks, in the library."""
    module = ModuleType("flashinfer")
    module.BatchAttentionWithAttentionSinkWrapper = wrapper(SINK_MADE, PREFILL_PLAN, PREFILL_RUN)
    monkeypatch.setitem(sys.modules, "flashinfer", module)
    return module.BatchAttentionWithAttentionSinkWrapper


def tokens_by(numbers, page):
    """Which page and place each token of each request has, by indptr, indices and last_page_len."""
    starts, found = numbers["indptr"].tolist(), []
    for request, last in enumerate(numbers["last_page_len"].tolist()):
        pages = numbers["indices"][starts[request] : starts[request + 1]].tolist()
        found.append([(each, at) for each in pages for at in range(page)][: (len(pages) - 1) * page + last])
    return found


@pytest.mark.parametrize("lengths", [[48, 33, 1], [16, 17, 47]])
def test_page_numbers_lead_to_the_same_tokens_as_the_tables(lengths):
    source = torch.Generator().manual_seed(0)
    tables, seq_lens = _paged.tables(source, 3, 48, 16), torch.tensor(lengths, dtype=torch.int32)
    numbers = _paged.page_numbers(tables, seq_lens, 16)
    assert all(each.dtype == torch.int32 for each in numbers.values())
    wanted = [
        [(int(table[token // 16]), token % 16) for token in range(length)]
        for table, length in zip(tables, lengths, strict=True)
    ]
    assert tokens_by(numbers, 16) == wanted


@pytest.mark.parametrize("kv", ["bf16", "fp8"])
@pytest.mark.parametrize("version", DECODE)
@pytest.mark.parametrize("window", [-1, 20])
def test_the_decode_wrapper(kv, version, window):
    made = wrapper(MADE.format("use_tensor_cores=False, "), DECODE[version], DECODE_RUN)
    inputs = batch_decode.inputs(**SHAPE, length=70, sinks=False, window=window, kv=kv)
    call = batch_decode.prepare(made, inputs)
    answer, got = call(), made.got
    options = {name: got["made"][name] for name in ("kv_layout", "backend", "use_tensor_cores")}
    assert options == dict(kv_layout="HND", backend="fa2", use_tensor_cores=True)
    plan, run = got["plan"], got["run"]
    assert (plan["num_qo_heads"], plan["num_kv_heads"], plan["head_dim"], plan["page_size"]) == (8, 2, 32, 16)
    assert plan["window_left"] == window and plan["sm_scale"] == 32**-0.5
    assert (plan["q_data_type"], plan["kv_data_type"]) == (torch.bfloat16, inputs["key"].dtype)
    assert run["q"] is inputs["query"] and run["paged_kv_cache"] == (inputs["key"], inputs["value"])
    assert run.get("k_scale") == run.get("v_scale") == (_decode.FP8_SCALE if kv == "fp8" else None)
    assert answer is run["out"] is call.outputs[0] and "args" not in run


@pytest.mark.parametrize("more", [dict(sinks=True), dict(sinks=False, q_len=2)], ids=str)
def test_what_the_decode_wrapper_cannot_do_is_said(more):
    inputs = batch_decode.inputs(**SHAPE, length=70, **more)
    with pytest.raises(NotImplementedError, match="one new token"):
        batch_decode.prepare(None, inputs)


@pytest.mark.parametrize("backend", ["fa2", "fa3"])
@pytest.mark.parametrize("sinks", [False, True])
def test_the_prefill_wrappers(with_sinks, backend, sinks):
    plain = wrapper(MADE.format(""), PREFILL_PLAN, PREFILL_RUN)
    inputs = batch_prefill.inputs(**SHAPE, tokens=25, prefix=21, sinks=sinks, window=9, backend=backend)
    call = batch_prefill.prepare(plain, inputs)
    answer, got = call(), (with_sinks if sinks else plain).got
    plan, run = got["plan"], got["run"]
    assert got["made"]["backend"] == backend and got["made"]["kv_layout"] == "HND"
    assert got["made"].get("window_left") == (9 if sinks else None)
    assert plan["causal"] is True and plan["window_left"] == 9 and plan["head_dim_qk"] == 32
    assert (plan["num_qo_heads"], plan["num_kv_heads"], plan["page_size"]) == (8, 2, 16)
    assert plan["qo_indptr"] is inputs["query_starts"]
    assert run["q"] is inputs["query"] and run["paged_kv_cache"] is inputs["kv"]
    assert run.get("args", ()) == ((inputs["sinks"], 32**-0.5) if sinks else ())
    assert answer is run["out"] is call.outputs[0]


def test_a_version_without_the_wrapper_for_sinks_says_so(with_sinks):
    del sys.modules["flashinfer"].BatchAttentionWithAttentionSinkWrapper
    inputs = batch_prefill.inputs(**SHAPE, tokens=25, prefix=0, sinks=True, window=-1, backend="fa3")
    with pytest.raises(NotImplementedError, match="Sink"):
        batch_prefill.prepare(None, inputs)


@pytest.mark.parametrize("window", [-1, 9])
def test_fmha_v2(recording, window):
    inputs = fmha_v2_prefill.inputs(**SHAPE, tokens=25, prefix=21, sinks=True, window=window)
    function = recording(FMHA_V2)
    call = fmha_v2_prefill.prepare(function, inputs)
    answer, got = call(), function.got
    assert got["qkv"] == (inputs["query"], inputs["kv"]) and got["input_layout"] == "Q_PAGED_KV_HND"
    assert got["mask_mode"] == ("causal" if window < 0 else "sliding_window") and got["window_left"] == window
    assert got["sinks"] is inputs["sinks"] and got["block_tables"] is inputs["block_tables"]
    assert answer is got["out"] is call.outputs[0] and got["batch_size"] == 3


def test_the_prefill_kernels_have_the_same_cases_but_for_the_backend():
    for backend in ("fa2", "fa3"):
        theirs = [case for case in batch_prefill.CASES if case["backend"] == backend]
        assert theirs == [dict(case, backend=backend) for case in trtllm_prefill.CASES]
    assert fmha_v2_prefill.CASES == trtllm_prefill.CASES


def test_an_answer_of_the_wrappers_is_judged_as_that_of_the_trtllm_functions(right):
    case = dict(SHAPE, tokens=25, prefix=21, sinks=False, window=9)
    inputs = batch_prefill.inputs(**case, backend="fa3")
    answer = trtllm_prefill.reference(trtllm_prefill.inputs(**case))
    assert right(batch_prefill, answer, inputs)
    assert not right(batch_prefill, {"out": answer["out"].roll(1, 0)}, inputs)
    decode = batch_decode.inputs(**SHAPE, length=70, sinks=False, kv="fp8")
    answer = batch_decode.reference(decode)["out"].bfloat16()
    assert right(batch_decode, {"out": answer}, decode)
    assert not right(batch_decode, {"out": answer * _decode.FP8_SCALE}, decode)
