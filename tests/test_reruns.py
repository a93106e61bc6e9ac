"""What a crash asks for, and how it is done: with fakes of the tools, and kernels that say what a fault would."""

import sys
import time
from pathlib import Path

import pytest
from fake_tools import DEBUGGER, SANITIZER, put_on_path
from test_runner import strangers

from workbench import canary, environments, forensics, gpus, planning, reruns, runner
from workbench.forensics import coredump, device_fault
from workbench.planning import Planned
from workbench.results import OUTCOME_OF_REASON, Outcome, Result, Trial
from workbench.store import load
from workbench.workers import Told

ZOO = Path(__file__).parent / "kernels"
GPU = gpus.Gpu("Example GPU", "9.0", "GPU-made-up", "999.1", 1.0)
BACKTRACE = """Opening GPU coredump: core.1
[New Thread 216240]

CUDA Exception: Warp Illegal Address
The exception was triggered at PC 0x7fc2afba5e30  void at::native::fill_kernel<4, at::native::Fill>(int)
[Current focus set to CUDA kernel 0, grid 9, block (17454,0,0), thread (0,0,0), device 0, sm 0]
#0  0x00007fc2afba5e70 in void at::native::fill_kernel<4, at::native::Fill>(int)<<<(40960,1,1),(128,1,1)>>> ()
"""
INLINED = """CUDA Exception: Warp Misaligned Address
#0  0x00007ff4 in load_scales (x=0x7f) at layout.py:12
#1  0x00007ff5 in _matmul_ogs_NNT_bf16<<<(8,1,1),(128,1,1)>>> () at _matmul_ogs.py:371
"""
PROGRESS = """[06:43:15.209195] coredump: Detected an exception of type CUDBG_EXCEPTION_WARP_ILLEGAL_ADDRESS (14)
[06:43:15.209202] coredump:   - Device: 0
[06:43:15.209477] coredump: Stack trace (lane masks: active 0xFFFFFFFF, valid 0xFFFFFFFF):
[06:43:15.209486] coredump:   #0\t0x7462c3bac620\t_matmul_ogs_NNT_bf16
[06:43:15.211467] coredump: SM 125/132 has finished state collection
"""
STRAY = "CUDA error: an illegal memory access was encountered"


# What is owed: pure


def result(attempt=1, reason="illegal_memory_access", mode="eager", **facts):
    trial = Trial("k", {}, mode, "e", "Example GPU")
    known = {"stderr": STRAY, "stage": "first_call"} | facts
    return Result(trial, "run", OUTCOME_OF_REASON[reason], reason, attempt=attempt, **known)


def why(attempts, device="cuda"):
    return [each.why for each in reruns.owed(attempts, device)]


def test_a_fault_on_the_gpu_asks_once():
    assert why([result()]) == ["located"]
    assert why([result(), result(2, rerun="located")]) == []
    assert why([result(), result(2, rerun="located"), result(3)]) == ["located"]  # asked for again
    assert why([result(0)]) == []


@pytest.mark.parametrize(
    ("attempt", "device"),
    [
        (result(), "cpu"),
        (result(reason="ok", stderr=""), "cuda"),
        (result(reason="segfault_abort", stderr="Fatal Python error: Segmentation fault"), "cuda"),
        (result(reason="launch_failure", stderr="CUDA error: invalid argument"), "cuda"),
        (result(reason="oom", stderr="CUDA out of memory"), "cuda"),
        (result(reason="hang_timeout"), "cuda"),
        (result(reason="wrong_numbers", check={"right": False}), "cuda"),
        (result(mode="sanitized"), "cuda"),
    ],
)
def test_nothing_else_asks(attempt, device):
    assert why([attempt], device) == []


def test_an_assertion_on_values_asks_too():
    assert why([result(reason="wrong_numbers", stderr="isnan: device-side assert triggered")]) == ["located"]


def fence(*tensors, **more):
    named = [{"name": name, "bytes": size, "gap_bytes": gap} for name, size, gap in tensors]
    return {"fence": {"edge": "end", "alignment": 16, "tensors": named, "not_fenced": [], **more}}


def test_each_fenced_tensor_is_tried_alone_the_tightest_first():
    crashed = result(mode="fenced", forensic=fence(("x", 100, 8), ("scales", 50, 0), ("w", 100, 0)))
    owed = reruns.owed([crashed], "cuda")
    assert [each.why for each in owed] == ["located", "narrowed", "narrowed", "narrowed"]
    assert [each.command["fence"] for each in owed[1:]] == [
        {"edge": "end", "only": [name]} for name in ("w", "scales", "x")
    ]
    done = [crashed, result(2, rerun="located", mode="fenced")]
    done += [result(3, rerun="narrowed", mode="fenced", forensic=fence(only=["w"]), reason="ok", stderr="")]
    done += [result(4, rerun="narrowed", mode="fenced", forensic=fence(only=["scales"]))]
    assert [each.command["fence"]["only"] for each in reruns.owed(done, "cuda")] == [["x"]]
    assert reruns.guilty(done) == ["scales"]


def test_a_cap_is_said_when_it_is_met():
    many = fence(*((f"t{number}", 10, 0) for number in range(11)))
    owed = reruns.owed([result(mode="fenced_start", forensic=many)], "cuda")
    assert len(owed) == 1 + reruns.MOST_NARROWED
    assert owed[-1].marks == ("3 more tensors were not fenced alone: at most 8 are",)
    assert owed[-1].command["fence"]["edge"] == "start"


@pytest.mark.parametrize(
    "told", [{"fence": 3}, {"fence": {"tensors": "all"}}, {"fence": {"tensors": [{"name": 3}, 4]}}]
)
def test_a_fence_that_is_none_narrows_nothing(told):
    assert why([result(mode="fenced", forensic=told)]) == ["located"]


# Who did it: pure


def test_the_debugger_names_the_kernel():
    kernel = "void at::native::fill_kernel<4, at::native::Fill>(int)"
    assert device_fault.from_debugger(BACKTRACE) == {
        "kernel": kernel, "by": "core dump", "error": "warp illegal address",
    }  # fmt: skip
    assert device_fault.from_debugger(INLINED)["kernel"] == "_matmul_ogs_NNT_bf16"
    assert device_fault.from_debugger("(no debugging symbols)") is None


def test_the_driver_names_it_where_there_is_no_debugger():
    found = device_fault.from_driver(PROGRESS)
    assert (found["kernel"], found["error"]) == ("_matmul_ogs_NNT_bf16", "warp illegal address")
    assert device_fault.from_driver(STRAY) is None


# How it is done: with processes


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs cases of the faulty kernel as if there were a GPU."""
    monkeypatch.setattr(canary, "sing", lambda python, variables: "")
    monkeypatch.setattr(gpus, "snapshot", lambda index: {})

    def run(*hows, mode="eager", device="cuda", **options):
        kernel = planning.from_file(ZOO / "faulty.py", [{"how": how} for how in hows])
        here = environments.parse("here", sys.executable)
        planned = [
            Planned(Trial(kernel.name, case, mode, here.name, GPU.name), kernel, here, device)
            for case in kernel.cases
        ]
        options = {
            "limits_s": {"first_call": 5},
            "memory_mb": 700,
            "effort": "quick",
            "quiet": True,
            **options,
        }
        run.summary = runner.run(planned, GPU, runner.Options(results=tmp_path / "r", **options))
        return [each for each in load(tmp_path / "r") if each.attempt]

    return run


def test_a_crash_is_located_by_a_dump(run, tmp_path, monkeypatch):
    put_on_path(tmp_path / "bin", monkeypatch, cuda_gdb=DEBUGGER)
    monkeypatch.setenv("FAKE_BACKTRACE", BACKTRACE)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    first, second = run("illegal_address")
    assert (first.attempt, first.rerun, first.forensic) == (1, "", {})
    assert (second.attempt, second.rerun, second.reason) == (2, "located", "illegal_memory_access")
    assert second.forensic["fault"]["by"] == "core dump"
    assert second.detail.startswith("void at::native::fill_kernel")
    assert run.summary.reruns == {"located": 1} and run.summary.seconds["reruns"] > 0
    assert run.summary.outcomes == run.summary.standing == {"crashed": 1}
    assert not list(tmp_path.rglob("core.*"))
    assert len(run("illegal_address")) == 2  # nothing is asked a second time


@pytest.mark.slow
def test_a_process_that_the_dump_has_ended_is_judged_by_it(run, tmp_path, monkeypatch):
    put_on_path(tmp_path / "bin", monkeypatch, cuda_gdb=DEBUGGER)
    monkeypatch.setenv("FAKE_BACKTRACE", INLINED)
    _, located = run("aborts")
    assert (located.outcome, located.reason) == (Outcome.CRASHED, "misaligned_address")
    assert "_matmul_ogs_NNT_bf16: warp misaligned address (by the core dump)" in located.detail
    assert "SIGABRT" in located.detail


def test_without_a_dump_the_blocking_launch_is_what_is_known(run, monkeypatch):
    monkeypatch.setattr(coredump, "tool", lambda name: None)
    _, located = run("assert")
    assert located.forensic["fault"]["by"] == "blocking launch"
    assert located.forensic["fault"]["kernel"] == ""
    assert "assert" in located.detail


def test_a_debugger_that_hangs_costs_its_limit(run, tmp_path, monkeypatch):
    put_on_path(tmp_path / "bin", monkeypatch, cuda_gdb=DEBUGGER)
    monkeypatch.setenv("FAKE_DEBUGGER_S", "600")
    monkeypatch.setattr(coredump, "READ_LIMIT_S", 0.5)
    _, located = run("illegal_address")
    assert located.forensic["fault"]["by"] == "blocking launch"


@pytest.mark.slow
def test_a_rerun_that_hangs_costs_its_limit_and_nothing_else(run):
    began = time.monotonic()
    found = run("hangs_when_located", "right", limits_s={"first_call": 1})
    assert time.monotonic() - began < 30
    assert [(each.trial.case["how"], each.rerun) for each in found] == [
        ("hangs_when_located", ""), ("right", ""), ("hangs_when_located", "located"),
    ]  # fmt: skip
    assert [str(found[place].outcome) for place in (0, 2)] == ["crashed", "hung"]
    assert found[1].check["right"]
    standing = {trial.case["how"]: each.word for trial, each in load(run_results(run)).trials().items()}
    assert standing["hangs_when_located"] == "crashed"
    assert found[2].forensic == {}  # nothing was learnt


def run_results(run):
    return Path(next(iter(run.summary.files))).parents[1]


def test_a_run_that_ends_between_a_crash_and_its_rerun_is_gone_on_with(run, monkeypatch):
    def ended(*rerun):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("workbench.crew.Crew.again", ended)
        assert [each.rerun for each in run("illegal_address")] == [""]
        assert run.summary.stopped
    assert [each.rerun for each in run("illegal_address")] == ["", "located"]
    assert run.summary.skipped == 1 and run.summary.outcomes == {}


@pytest.mark.slow
def test_reruns_can_be_left_out_and_are_where_all_must_be_quick(run):
    assert [each.rerun for each in run("illegal_address", reruns=False)] == [""]
    assert [each.rerun for each in run("illegal_address", interleave=True)] == [""] * 2
    slower = run("illegal_address", interleave=True, generations=1, effort="default")
    assert [each.rerun for each in slower] == [""] * 3 + ["located"]


def test_a_hosts_own_crash_is_not_run_again(run):
    assert [each.rerun for each in run("segfaults")] == [""]


def test_a_tensor_is_fenced_alone_by_the_workers_command_and_kept_so():
    class Crew:
        """Stands for the crew; its worker died before it told of its fence."""

        def alone(self, planned, built, **more):
            self.asked = more
            return Told()

        def judged(self, *attempt):
            return "judged"

    crew, crashed = Crew(), result(mode="fenced", forensic=fence(("x", 100, 0), ("scales", 50, 0)))
    rerun = reruns.owed([crashed], "cuda")[-1]
    told, judgement = forensics.again(crew, None, None, rerun)
    assert crew.asked == {"fence": {"edge": "end", "only": ["scales"]}}
    assert told.facts["forensic"]["fence"] == crew.asked["fence"] and judgement == "judged"


# The sanitizer


CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"


@pytest.fixture
def sanitized(tmp_path, monkeypatch):
    """Runs a kernel on the CPU under the fake, which closes every pipe but the standard ones."""
    put_on_path(tmp_path / "bin", monkeypatch, compute_sanitizer=SANITIZER)

    def run(report, how="right", mode="sanitized", **options):
        monkeypatch.setenv("FAKE_REPORT", report)
        kernel = planning.from_file(ZOO / "misbehaving.py", [{"how": how, "place": 0}])
        here = environments.parse("here", sys.executable)
        planned = [Planned(Trial(kernel.name, kernel.cases[0], mode, here.name, "cpu"), kernel, here, "cpu")]
        options = {"memory_mb": 700, "quiet": True, **options}
        run.summary = runner.run(planned, None, runner.Options(results=tmp_path / "r", **options))
        return list(load(tmp_path / "r"))[-1]

    return run


def test_a_clean_report_is_ok_and_has_no_time(sanitized):
    found = sanitized(CLEAN)
    assert (found.outcome, found.time, found.stage) == (Outcome.OK, {}, "done")
    assert found.detail.startswith("memcheck found nothing")
    assert found.forensic["sanitizer"] == {"tool": "memcheck", "findings": [], "errors": 0, "blind": ""}


def test_a_wrong_answer_under_a_tool_that_found_nothing_says_both(sanitized):
    found = sanitized(CLEAN, how="wrong")
    assert found.outcome == Outcome.WRONG
    assert found.detail.startswith("memcheck found nothing; under it: worst row off by")


def test_a_finding_is_the_outcome(sanitized):
    text = (
        "========= Invalid __global__ read of size 4 bytes\n=========     at _kernel+0x10 in a.py:3\n"
        "=========     Access at 0x1 is out of bounds\n"
        "=========     and is 1 bytes after the nearest allocation at 0x7f of size 8 bytes\n"
        "========= ERROR SUMMARY: 1 error\n"
    )
    found = sanitized(text)
    assert (found.outcome, found.reason) == (Outcome.CRASHED, "illegal_memory_access")
    assert (
        "_kernel (a.py:3): 4 bytes read, 1 byte after a block that is no tensor of the call" in found.detail
    )
    assert found.forensic["fault"]["by"] == "sanitizer"


def test_a_tool_that_leaves_no_report_has_watched_nothing(sanitized):
    assert (sanitized("").outcome, sanitized.summary.outcomes) == (Outcome.NOT_RUN, {"not_run": 1})


def test_another_tool_is_another_question(sanitized):
    sanitized(CLEAN)
    assert sanitized(CLEAN).attempt == 1
    found = sanitized(CLEAN, mode="sanitized+initcheck")
    assert (found.attempt, found.forensic["sanitizer"]["tool"]) == (1, "initcheck")


def test_an_absent_sanitizer_is_named_and_asked_for_again(sanitized, monkeypatch):
    monkeypatch.setattr(coredump, "tool", lambda name: None)
    found = sanitized(CLEAN)
    assert (found.outcome, found.attempt) == (Outcome.NOT_RUN, 0)
    assert "install it with the CUDA toolkit" in found.detail


def test_a_sanitizer_that_does_not_start_says_why(sanitized, tmp_path, monkeypatch):
    refuses = "#!{python}\nprint('========= Error: unrecognised option --padding')\nraise SystemExit(1)\n"
    put_on_path(tmp_path / "bin", monkeypatch, compute_sanitizer=refuses)
    found = sanitized(CLEAN)
    assert (found.outcome, found.reason) == (Outcome.NOT_RUN, "env_problem")
    assert "unrecognised option --padding" in found.detail


@pytest.mark.slow
def test_a_hang_under_the_sanitizer_ends_the_whole_tree(sanitized):
    found = sanitized("", how="hangs", limits_s={"first_call": 1})
    assert (found.outcome, found.stage) == (Outcome.HUNG, "first_call")
    assert not strangers()


def test_tensors_are_told_by_name_and_each_storage_once():
    torch = pytest.importorskip("torch")
    from workbench.worker import named

    scales, other = torch.ones(4), torch.ones(3)
    asked = {"w": {"storage": torch.ones(8)}, "half": scales[:2]}

    def call():
        return asked, scales

    found = {
        each["name"]: (each["address"], each["bytes"])
        for each in named.places(call, {"x": other, "e": scales})
    }
    assert {name: size for name, (_, size) in found.items()} == {
        "scales": 16,
        "asked.w.storage": 32,
        "inputs.x": 12,
    }
    assert found["inputs.x"][0] == other.data_ptr()
