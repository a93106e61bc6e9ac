"""The classifier of texts: public reports, variants of them, and input that is hostile."""

import json
import math
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.reasons import classify
from workbench.reasons.meanings import MEANINGS
from workbench.results import OUTCOME_OF_REASON

REPORTS = json.loads((Path(__file__).parent / "cases" / "reports.json").read_text())
JUDGEMENTS = ("id", "source", "expected", "acceptable", "tempting")

NOISE = (
    "[Gloo] Rank 0 is connected to 0 peer ranks. Expected number of connected peer ranks is : 0",
    "/opt/venv/lib/torch/cuda/__init__.py:63: FutureWarning: The pynvml package is deprecated",
    "  import pynvml  # type: ignore[import]",
    "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: 1 leaked object",
    "[rank0]:[W ProcessGroupNCCL.cpp:1538] Warning: destroy_process_group() was not called before program exit",
)
TAIL = (
    "Exception ignored in: <function Finalizer.__del__ at 0x7f1c>",
    "Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.12/site-packages/torch/_tensor.py", line 88, in __del__',
    "TypeError: 'NoneType' object is not callable",
)


def attempt(stderr: str = "", code: int | None = 1, **more: object) -> dict:
    return {"kind": "kernel", "stderr": stderr, "returncode_or_signal": code} | more


def reason(stderr: str = "", code: int | None = 1, **more: object) -> str:
    return classify(attempt(stderr, code, **more))[0]


def facts_of(report: dict) -> dict:
    return {name: value for name, value in report.items() if name not in JUDGEMENTS}


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: f"{report['id']}-{report['expected']}")
def test_public_report(report: dict) -> None:
    assert classify(facts_of(report))[0] == report["expected"]


def test_no_tempting_answer_and_known_classes_only() -> None:
    answers = {report["id"]: classify(facts_of(report))[0] for report in REPORTS}
    tempted = [
        each["id"] for each in REPORTS if answers[each["id"]] in set(each["tempting"]) - {each["expected"]}
    ]
    assert not tempted
    assert set(answers.values()) <= set(OUTCOME_OF_REASON)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["id"])
def test_noise_around_changes_nothing(report: dict) -> None:
    text = "\n".join([*NOISE, report["stderr"], *NOISE[::-1], *TAIL])
    assert classify(facts_of(report) | {"stderr": text})[0] == report["expected"]


def test_judgements_are_never_read() -> None:
    for report in REPORTS:
        lies = {
            "expected_class": "ok",
            "acceptable_classes": ["ok"],
            "symptom": "CUDA out of memory",
            "why": "oom",
        }
        assert classify(facts_of(report) | lies) == classify(facts_of(report))


FAULT = "CUDA error: an illegal memory access was encountered"


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("illegal_memory_access", f"{FAULT}\nCUDA error: misaligned address"),
        ("misaligned_address", f"RuntimeError: CUDA error: misaligned address\nRuntimeError: {FAULT}"),
        (
            "illegal_memory_access",
            f"terminate called after throwing an instance of 'c10::Error'\n  what():  {FAULT}",
        ),
        (
            "illegal_memory_access",
            f"WARNING - [tuner] skipping tactic 7: {FAULT}\nRuntimeError: Got CUDA error. See above",
        ),
        (
            "oom",
            "[rank0]: Watchdog caught collective operation timeout\n[rank3]: OutOfMemoryError: CUDA out of memory.",
        ),
        ("hang_timeout", "[rank0]: Watchdog caught collective operation timeout\nterminate called"),
        ("graph_capture_failure", "CUDA error: operation failed due to a previous error during capture"),
        ("resource_exhausted", "RuntimeError: CUDA error: too many resources requested for launch"),
        ("launch_failure", "Failed: Cuda error /csrc/my_reduce.cuh:455 'invalid argument'"),
        ("launch_failure", "RuntimeError: CUDA error: invalid configuration argument"),
        ("no_kernel_image", "[TP1] no kernel image is available for execution on the device\n[TP0] " + FAULT),
        ("version_skew", "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"),
        ("version_skew", "nvcc fatal   : Unsupported gpu architecture 'compute_120a'\nninja: build stopped"),
        ("version_skew", "ImportError: /opt/venv/x/_C.so: undefined symbol: _ZN3c106detail"),
        (
            "oom_host",
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\nRuntimeError: Ninja build failed.",
        ),
        ("env_problem", "FAILED: [code=127] x.cuda.o\n/bin/sh: 1: nvcc: not found\nninja: build stopped"),
        ("jit_compile_failure", 'foo.cuh(120): error: identifier "fp4" is undefined\nninja: build stopped'),
        ("api_changed", "RuntimeError: No kernel found for the given options: mDtypeA: E2m1, mTileSize: 1"),
        (
            "no_kernel_for_config",
            "RuntimeError: No kernel found for the given options: mDtypeA: E2m1, mTileSize: 64",
        ),
        ("no_kernel_for_config", "ValueError: Unsupported head_dim: 80"),
        ("missing_cubin", "AssertionError: Failed to get checksums.txt from fmha/checksums.txt"),
        (
            "not_exercised",
            "WARNING we will default to dequantizing the model\ntorch.OutOfMemoryError: CUDA out of memory",
        ),
        ("bad_argument", "RuntimeError: Expected all tensors to be on the same device, but found two"),
        ("wrong_numbers", "AssertionError: Tensor-likes are not close!\nMismatched elements: 3 / 4 (75%)"),
        (
            "env_problem",
            "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\nunspecified launch failure",
        ),
        ("illegal_memory_access", "reduce.cu:41: CUDA error 700"),
        ("misaligned_address", "cudaStreamSynchronize returned error code: 716"),
        ("graph_capture_failure", "CUDA failure 905: cudaGraphLaunch"),
        ("unknown", "CUDA error 12345"),
        ("graph_capture_failure", "RuntimeError: CUDA error: capturing stream has unjoined work"),
        (
            "hang_timeout",
            'Assertion failed: barrier.cuh:45, "Grid sync timeout"\nCUDA error: unspecified launch failure',
        ),
        (
            "hang_timeout",
            "slurmstepd: error: *** STEP 7.0 ON node CANCELLED AT 02:59:56 DUE TO TIME LIMIT ***",
        ),
        ("not_run", "slurmstepd: error: *** STEP 7.0 ON node CANCELLED AT 02:59:56 DUE TO PREEMPTION ***"),
        ("not_run", "srun: error: Unable to allocate resources: Invalid partition"),
        ("unknown", "srun: error: node: task 0: Exited with exit code 1"),
        ("unknown", "If out-of-memory error occurs, consider a smaller batch"),
        ("unsupported_arch", "RuntimeError: Expected is_sm80 || is_sm90 to be true, but got false."),
        ("bad_argument", "RuntimeError: Failed: Assertion error x.cu:17 'num_tokens <= max_tokens'"),
        ("unknown", "RuntimeError: Assertion error x.hpp:24: result == NVRTC_SUCCESS"),
        ("version_skew", "python: symbol lookup error: /opt/x.so: undefined symbol: y, version z"),
        ("version_skew", "ModuleNotFoundError: No module named 'triton.tools.ragged_tma'"),
        ("api_changed", "ModuleNotFoundError: No module named 'somekernels.moe'"),
        ("import_error", "ModuleNotFoundError: No module named 'somekernels'"),
        ("unknown", "ZeroDivisionError: division by zero"),
        ("unknown", ""),
    ],
)
def test_the_first_cause_counts(expected: str, text: str) -> None:
    assert reason(text) == expected


@pytest.mark.parametrize(
    "text",  # as FlashInfer 0.6.8.post1 to 0.7.4 say it
    [
        "RuntimeError: No supported CUDA architectures found for major versions [9, 12].",
        "ValueError: XQA is only supported on SM90, SM100, SM120/SM121 GPUs",
        "RuntimeError: Unsupported architecture",
        "RuntimeError: MoE kernel requires SM 10.x or SM 12.x architecture. Current device has SM 90",
        "RuntimeError: [TensorRT-LLM][ERROR] Assertion failed: FP4 is only supported by SM100",
        "RuntimeError: FP4 data type is not supported on SM < 90",
        "RuntimeError: Not Implemented: SM120 group GEMM only supports nvfp4.",
        "RuntimeError: Blockscaled contiguous gather grouped GEMM with SwiGLU requires SM100 family (SM100, SM103). ",
        "ValueError: sm_100,sm_103 are the only supported SM versions for cute-dsl backend, but encountered sm_90",
        "BackendSupportedError: grouped_gemm_nt_masked does not support compute capability 90",
        "NotImplementedError: FP8 block scaling not yet implemented for Blackwell.",
        "RuntimeError: mxfp8_grouped_quantize requires SM100 or newer",
    ],
)
def test_what_the_expert_layers_refuse_is_the_gpu(text: str) -> None:
    assert reason(text) == "unsupported_arch"


@pytest.mark.parametrize(
    ("expected", "text", "code"),
    [
        ("unknown", "memcheck: no illegal memory access was found\nRuntimeError: queue closed", 1),
        ("unknown", "This was not an illegal memory access.\nRuntimeError: queue closed", 1),
        (
            "unknown",
            "RuntimeError: queue closed\nif you see an illegal memory access, rerun with BLOCKING=1",
            1,
        ),
        ("wrong_numbers", "INFO 0 illegal memory accesses\nAssertionError: Tensor-likes are not close!", 1),
        ("misaligned_address", "not an illegal memory access, but CUDA error: misaligned address", 1),
        ("oom", "RuntimeError: rank 0 CUDA out of memory", 1),
        ("illegal_memory_access", "CUDA error on device 0 illegal memory access was encountered", 1),
        (
            "unknown",
            '  File "a.py", line 5, in run\n    raise Boom(x)  # CUDA out of memory is elsewhere\nBoom: no',
            1,
        ),
        ("segfault_abort", "WARNING: No module named 'deep_ep'; EP disabled\nSegmentation fault", 139),
        ("unknown", "INFO: optional No module named 'deep_ep', continuing\nRuntimeError: queue closed", 1),
        ("segfault_abort", "python: Type.cpp:88: Assertion `Ty != nullptr' failed.\nAborted", -6),
    ],
)
def test_what_is_denied_advised_or_only_noted_is_no_cause(expected: str, text: str, code: int) -> None:
    assert reason(text, code) == expected


def test_a_clash_that_an_installer_notes_is_a_finding_of_a_check_alone() -> None:
    clash = (
        "flashinfer-python 0.6.11 requires cutlass>=4.5, but you have cutlass 4.2.1 which is incompatible."
    )
    assert reason(clash, kind="env") == "version_skew"
    assert reason(f"{clash}\nRuntimeError: {FAULT}") == "illegal_memory_access"


def test_other_architectures_join_the_support_table() -> None:
    image = "CUDA error: no kernel image is available\nloaded module: fused_moe_trtllm_sm100.so"
    assert reason(image, sm="103") == reason(image, sm="100") == "no_kernel_image"
    assert reason(image, sm="90") == "unsupported_arch"
    assert reason("no kernel image is available for execution on the device", sm="70") == "unsupported_arch"
    assert reason("no kernel image is available for execution on the device", sm=9.0) == "no_kernel_image"
    assert reason("ValueError: Invalid backend: 89", sm="89") == "unsupported_arch"
    assert reason("ValueError: Invalid backend: 89", sm="100") == "unknown"


def test_clocks_order_the_lines_of_ranks() -> None:
    late = "[rank0] 10:00:05 RuntimeError: CUDA error: unspecified launch failure"
    early = f"[rank1] 10:00:02 RuntimeError: {FAULT}"
    assert reason(f"{late}\n{early}") == "illegal_memory_access"


@pytest.mark.parametrize(
    ("expected", "code", "more"),
    [
        ("oom_host", -9, {}),
        ("oom_host", 137, {}),
        ("hang_timeout", -9, {"timed_out_by_harness": True}),
        ("not_run", -15, {}),
        ("segfault_abort", -11, {}),
        ("segfault_abort", "SIGABRT", {}),
        ("exited_early", 0, {"stage": "first_call"}),
        ("ok", 0, {"stdout": '{"status": "ok", "rel_l2": 0.003, "median_us": 9}'}),
        ("ok", None, {"stage": "done"}),
        ("wrong_numbers", 0, {"stdout": '{"status": "ok", "cosine": 0.4}'}),
        ("wrong_numbers", 0, {"stdout": '{"status": "ok", "out_absmax": 0.0, "ref_absmax": 2.0}'}),
        ("measurement_invalid", 0, {"stdout": '{"status": "ok", "median_us": 1.0, "floor_us": 3.0}'}),
    ],
)
def test_ends_without_text(expected: str, code: object, more: dict) -> None:
    assert classify({"kind": "kernel", "returncode_or_signal": code} | more)[0] == expected


def test_benign_skips_are_fine_when_the_run_ended_well() -> None:
    assert reason("[Autotuner]: Skipping tactic 5, due to failure: Assertion failed: tile", 0) == "ok"


def test_a_fault_before_our_own_kill_is_why_it_hung() -> None:
    assert reason(FAULT, -9, timed_out_by_harness=True) == "illegal_memory_access"


@pytest.mark.parametrize(
    ("expected", "stage", "exception", "message"),
    [
        ("import_error", "import", "ModuleNotFoundError", "No module named 'triton_kernels'"),
        ("api_changed", "find", "AttributeError", "module 'flashinfer' has no attribute 'fp4_quantize'"),
        ("api_changed", "find", "ImportError", "cannot import name 'matmul' from 'triton_kernels.matmul'"),
        ("no_kernel_for_config", "prepare", "NotImplementedError", "no per-token scales here"),
        ("unsupported_arch", "prepare", "NotImplementedError", "needs SM100"),
        ("api_changed", "first_call", "TypeError", "run() got an unexpected keyword argument 'x'"),
        ("import_error", "import", "TypeError", "unsupported operand type(s) for |: 'type' and 'NoneType'"),
        ("not_built", "install", "", "No matching distribution found for x==9"),
        ("unknown", "check", "IndexError", "list index out of range"),
    ],
)
def test_the_worker_names_stage_and_exception(
    expected: str, stage: str, exception: str, message: str
) -> None:
    assert reason("", None, stage=stage, exception=exception, message=message) == expected


def test_mixed_releases_explain_a_fault_but_no_lack_of_memory() -> None:
    versions = {"flashinfer-python": "0.6.11", "flashinfer-jit-cache": "0.6.9+cu130"}
    assert reason(FAULT, versions=versions) == "version_skew"
    assert reason("torch.OutOfMemoryError: CUDA out of memory", versions=versions) == "oom"
    assert (
        reason(FAULT, versions=versions | {"flashinfer-jit-cache": "0.6.11+cu130"}) == "illegal_memory_access"
    )


SIDES = {"A": "0.6.8", "B": "0.6.11"}


@pytest.mark.parametrize(
    ("expected", "versions", "measurements"),
    [
        ("slower", SIDES, {"A_us": 10, "B_us": 13}),
        ("ok", SIDES, {"A_us": 10, "B_us": 10.1}),
        ("slower", SIDES, {"A": {"tflops": 600}, "B": {"tflops": 400}}),
        ("ok", SIDES, {"A": {"tflops": 400}, "B": {"tflops": 600}}),
        ("slower", {"flashinfer": "0.6.8 -> 0.6.11"}, {"before_ms": 1.0, "after_ms": 2.0}),
        ("inconclusive", {"tool": "asv"}, {"A_us": 10, "B_us": 13}),
        ("inconclusive", SIDES, {"A": [10, 11, 12, 10.5], "B": [11.5, 12, 13, 11.1]}),
        ("inconclusive", SIDES, {"A": {"tactic": "[8, 3]", "us": 10}, "B": {"tactic": "[16, 2]", "us": 14}}),
        (
            "measurement_invalid",
            SIDES,
            {"A": {"timer": "cupti", "us": 10}, "B": {"timer": "events", "us": 14}},
        ),
        ("measurement_invalid", SIDES, {"A": {"sm_mhz": 1980, "us": 10}, "B": {"sm_mhz": 1410, "us": 14}}),
    ],
)
def test_two_sides_of_a_timing(expected: str, versions: dict, measurements: dict) -> None:
    assert reason("", 0, kind="timing", versions=versions, measurements=measurements) == expected


@pytest.mark.parametrize(
    ("expected", "measurements"),
    [
        ("measurement_invalid", {"cold_us": 14.8, "hot_us": 9.1}),
        ("measurement_invalid", {"no_sync_fps": 180, "sync_fps": 30}),
        ("inconclusive", {"monday_us": 10.1, "tuesday_us": 10.5}),
    ],
)
def test_two_ways_of_timing_are_no_two_versions(expected: str, measurements: dict) -> None:
    assert reason("", 0, kind="timing", versions={"tool": "x"}, measurements=measurements) == expected


def test_a_local_label_is_no_difference() -> None:
    said = "flashinfer-jit-cache version ({}) does not match flashinfer version (0.6.16)"
    assert reason(said.format("0.6.16+cu130"), 0, kind="env") == "ok"
    assert reason(said.format("0.6.13+cu130"), 0, kind="env") == "version_skew"


def test_frames_of_other_ranks_are_no_frames_of_this_one() -> None:
    site = "/opt/venv/lib/python3.12/site-packages"
    text = f"""[rank0]:   File "{site}/servething/run.py", line 3, in go
[rank1]:   File "{site}/flashinfer/moe.py", line 9, in inner
[rank0]: TypeError: plan() got an unexpected keyword argument 'x'"""
    assert reason(text) == "api_changed"


def test_truncated_text_is_unknown_or_the_same() -> None:
    for report in REPORTS:
        half = report["stderr"][: len(report["stderr"]) // 2]
        assert classify(facts_of(report) | {"stderr": half})[0] in OUTCOME_OF_REASON


@pytest.mark.parametrize("filler", ["a", "x\n", "loading cubin ", "\x1b[0m"])
def test_ten_megabytes_take_no_time(filler: str) -> None:
    text = filler * (10_000_000 // len(filler))
    start = time.monotonic()
    assert classify(attempt(text + f"\nRuntimeError: {FAULT}\n"))[0] == "illegal_memory_access"
    assert time.monotonic() - start < 5


def test_a_cause_in_the_middle_of_much_text_is_found() -> None:
    text = "step\n" * 200_000 + f"RuntimeError: {FAULT}\n" + "".join(f"line {n}\n" for n in range(200_000))
    assert reason(text) == "illegal_memory_access"


WILD = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=40) | st.binary(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = (*facts_of(REPORTS[0]), "stdout", "measurements", "stage", "exception", "message")


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(FIELDS), WILD),
    st.sampled_from(["kernel", "env", "timing", "notebook", ""]),
)
def test_any_record_has_an_answer(record: dict, kind: str) -> None:
    answer, detail = classify(record | {"kind": kind})
    assert answer in OUTCOME_OF_REASON
    assert "\n" not in detail and len(detail) < 300


@pytest.mark.parametrize(
    "record", [None, 3, [], {"stderr": math.nan}, {"returncode_or_signal": math.inf}, {"sm": {}}]
)
def test_no_record_at_all(record: object) -> None:
    assert classify(record)[0] == "unknown"  # type: ignore[arg-type]


def test_each_class_has_a_meaning() -> None:
    assert set(MEANINGS) == set(OUTCOME_OF_REASON)
    assert all(meaning and advice for meaning, advice in MEANINGS.values())
