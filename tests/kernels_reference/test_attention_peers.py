"""How the peers of the trtllm attention functions are planned and called, by signatures as the wheels have them."""

import inspect
import sys
from types import ModuleType

import pytest

from workbench.kernels import _attention_peers, _decode, _paged, trtllm_attention, trtllm_attention_fp8
from workbench.kernels import trtllm_prefill as prefill

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
    monkeypatch.setattr(_attention_peers, "WORKSPACE_BYTES", 1 << 10)


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


@pytest.fixture
def library(monkeypatch, recording):
    module, of_prefill = ModuleType("flashinfer"), ModuleType("flashinfer.prefill")
    made = "float_workspace_buffer, kv_layout='NHD', use_cuda_graph=False, {}backend='auto', jit_args=None"
    module.BatchPrefillWithPagedKVCacheWrapper = wrapper(made.format(""), PREFILL_PLAN, PREFILL_RUN)
    module.BatchAttentionWithAttentionSinkWrapper = wrapper(SINK_MADE, PREFILL_PLAN, PREFILL_RUN)
    module.made_for_decode = made.format("use_tensor_cores=False, ")
    of_prefill.trtllm_fmha_v2_prefill = recording(FMHA_V2)
    monkeypatch.setitem(sys.modules, "flashinfer", module)
    monkeypatch.setitem(sys.modules, "flashinfer.prefill", of_prefill)
    return module


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


@pytest.mark.parametrize("kernel", [trtllm_attention, trtllm_attention_fp8])
@pytest.mark.parametrize("version", DECODE)
@pytest.mark.parametrize("window", [-1, 20])
def test_the_decode_wrapper(library, kernel, version, window):
    made = wrapper(library.made_for_decode, DECODE[version], DECODE_RUN)
    library.BatchDecodeWithPagedKVCacheWrapper = made
    case = dict(SHAPE, length=70, sinks=False, backend="fa2", window=window)
    inputs = kernel.inputs(**case)
    call = kernel.prepare(None, inputs)
    answer, got = call(), made.got
    assert (
        got["made"]["kv_layout"] == "HND"
        and got["made"]["backend"] == "fa2"
        and got["made"]["use_tensor_cores"]
    )
    plan, run = got["plan"], got["run"]
    assert (plan["num_qo_heads"], plan["num_kv_heads"], plan["head_dim"], plan["page_size"]) == (8, 2, 32, 16)
    assert plan["window_left"] == window and plan["sm_scale"] == 32**-0.5
    assert (plan["q_data_type"], plan["kv_data_type"]) == (torch.bfloat16, inputs["key"].dtype)
    assert run["q"] is inputs["query"] and run["paged_kv_cache"] == (inputs["key"], inputs["value"])
    scale = _decode.FP8_SCALE if kernel is trtllm_attention_fp8 else None
    assert run.get("k_scale") == run.get("v_scale") == scale
    assert answer is run["out"] is call.outputs[0] and "args" not in run


@pytest.mark.parametrize("more", [dict(sinks=True), dict(sinks=False, q_len=2)], ids=str)
def test_what_the_decode_wrapper_cannot_do_is_said(library, more):
    inputs = trtllm_attention.inputs(**SHAPE, length=70, backend="fa2", **more)
    with pytest.raises(NotImplementedError, match="one query token"):
        trtllm_attention.prepare(None, inputs)


@pytest.mark.parametrize("backend", ["fa2", "fa3"])
@pytest.mark.parametrize("sinks", [False, True])
def test_the_prefill_wrappers(library, backend, sinks):
    case = dict(SHAPE, tokens=25, prefix=21, sinks=sinks, window=9, backend=backend)
    inputs = prefill.inputs(**case)
    call = prefill.prepare(None, inputs)
    answer = call()
    kind = "BatchAttentionWithAttentionSinkWrapper" if sinks else "BatchPrefillWithPagedKVCacheWrapper"
    got = getattr(library, kind).got
    plan, run = got["plan"], got["run"]
    assert got["made"]["backend"] == backend and got["made"]["kv_layout"] == "HND"
    assert got["made"].get("window_left") == (9 if sinks else None)
    assert plan["causal"] is True and plan["window_left"] == 9 and plan["head_dim_qk"] == 32
    assert (plan["num_qo_heads"], plan["num_kv_heads"], plan["page_size"]) == (8, 2, 16)
    assert plan["qo_indptr"] is inputs["query_starts"]
    assert run["q"] is inputs["query"] and run["paged_kv_cache"] is inputs["kv"]
    assert run.get("args", ()) == ((inputs["sinks"], 32**-0.5) if sinks else ())
    assert answer is run["out"] is call.outputs[0]


@pytest.mark.parametrize("window", [-1, 9])
def test_fmha_v2(library, window):
    inputs = prefill.inputs(**SHAPE, tokens=25, prefix=21, sinks=True, window=window, backend="fmha_v2")
    call = prefill.prepare(None, inputs)
    answer, got = call(), sys.modules["flashinfer.prefill"].trtllm_fmha_v2_prefill.got
    assert got["qkv"] == (inputs["query"], inputs["kv"]) and got["input_layout"] == "Q_PAGED_KV_HND"
    assert got["mask_mode"] == ("causal" if window < 0 else "sliding_window") and got["window_left"] == window
    assert got["sinks"] is inputs["sinks"] and got["block_tables"] is inputs["block_tables"]
    assert answer is got["out"] is call.outputs[0] and got["batch_size"] == 3


def test_a_version_without_fmha_v2_says_so(library):
    del sys.modules["flashinfer.prefill"].trtllm_fmha_v2_prefill
    inputs = prefill.inputs(**SHAPE, tokens=25, prefix=0, sinks=False, window=-1, backend="fmha_v2")
    with pytest.raises(NotImplementedError, match="fmha_v2"):
        prefill.prepare(None, inputs)
