"""The zoo that needs a GPU: one run survives all of it, and what comes after each is right. Skipped elsewhere.

On a GPU: `python -m pytest -q -rs tests/test_gpu_zoo.py`; about five minutes, most of it starts of processes.
"""

import sys
from pathlib import Path

import pytest

from workbench import environments, gpus, planning, runner
from workbench.forensics import coredump
from workbench.store import load

GPU = gpus.here()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(GPU is None, reason="needs a GPU")]
ZOO = Path(__file__).parent / "kernels" / "gpu_faults.py"
LIMITS_S = {"first_call": 15, "capture": 30, "replay": 30, "check": 30}
CRASHES = {
    ("illegal_address", "eager"): ("illegal_memory_access", "first_call", "zoo_reads"),
    ("misaligned", "eager"): ("misaligned_address", "first_call", "zoo_reads"),
    ("asserts", "eager"): ("launch_failure", "first_call", "assert"),
    ("illegal_in_capture", "graph"): ("illegal_memory_access", "capture", "zoo_reads"),
    ("illegal_in_replay", "graph"): ("illegal_memory_access", "replay", "zoo_reads"),
}
ENDS = {
    **{trial: ("crashed", *end[:2]) for trial, end in CRASHES.items()},
    ("out_of_memory", "eager"): ("out_of_memory", "oom", "first_call"),
    ("endless", "eager"): ("hung", "hang_timeout", "first_call"),
    ("synchronizes", "graph"): ("failed", "graph_capture_failure", "capture"),
    ("reads_after", "eager"): (
        "ok",
        "ok",
        "done",
    ),  # its stray read lands in memory that happens to be mapped
}


def planned(how, mode, place=0):
    kernel = planning.from_file(ZOO, [{"how": how, "place": place}])
    return planning.plan([kernel], [environments.parse("here", sys.executable)], [mode], GPU)


def run(plan, folder, **options):
    summary = runner.run(plan, GPU, runner.Options(results=folder, limits_s=LIMITS_S, quiet=True, **options))
    return summary, [each for each in load(folder) if each.attempt]


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Every way to fail with a right trial between: one run, and its attempts."""
    plan = [one for how, mode in ENDS for one in planned(how, mode)]
    plan[1:1], plan[4:4] = planned("right", "eager", 0), planned("right", "eager", 1)
    plan += planned("right", "eager", 2) + planned("right", "graph", 2)
    return run(plan, tmp_path_factory.mktemp("zoo"), effort="quick")


def test_each_ends_as_it_must_and_the_right_ones_are_right(zoo):
    _, attempts = zoo
    got = {
        (each.trial.case["how"], each.trial.mode): (str(each.outcome), each.reason, each.stage)
        for each in attempts
        if not each.rerun and each.trial.case["how"] != "right"
    }
    assert got == ENDS
    right = [each for each in attempts if each.trial.case["how"] == "right"]
    assert [str(each.outcome) for each in right] == ["ok"] * 4
    assert all(each.median_us for each in right)


def test_each_fault_is_located(zoo):
    summary, attempts = zoo
    located = {(each.trial.case["how"], each.trial.mode): each for each in attempts if each.rerun}
    assert set(located) == set(CRASHES)
    assert summary.reruns == {"located": len(CRASHES)}
    for trial, (reason, _, kernel) in CRASHES.items():
        assert located[trial].reason == reason, trial
        if coredump.tool("cuda-gdb"):
            fault = located[trial].forensic["fault"]
            assert (fault["by"], kernel in fault["kernel"]) == ("core dump", True), (trial, fault)


@pytest.mark.skipif(coredump.tool("compute-sanitizer") is None, reason="needs compute-sanitizer")
@pytest.mark.parametrize(
    ("how", "mode", "side"),
    [("right", "sanitized", ""), ("reads_after", "sanitized", "after"), ("reads_before", "sanitized", "before"),
     ("reads_unwritten", "sanitized+initcheck", "inside")],
)  # fmt: skip
def test_what_a_plain_run_does_not_see_is_found_by_the_sanitizer(how, mode, side, tmp_path):
    _, (attempt,) = run(planned(how, mode), tmp_path)
    findings = attempt.forensic["sanitizer"]["findings"]
    if not side:
        assert (str(attempt.outcome), findings) == ("ok", []), attempt.detail
        return
    (finding,) = [each for each in findings if each["kernel"] == "zoo_reads"]
    assert (finding["bytes"], finding["access"], finding["side"]) == (4, "read", side)
    reason = "undefined_value" if side == "inside" else "illegal_memory_access"
    name = "scratch" if side == "inside" else "spare"  # the first name that the call holds it by
    assert (finding["tensor"], attempt.reason) == (name, reason)
    if side == "after":
        assert (finding["distance_bytes"], finding["of_bytes"]) == (1, 4096)


@pytest.mark.skipif(coredump.tool("compute-sanitizer") is None, reason="needs compute-sanitizer")
def test_a_race_is_found_by_racecheck_alone(tmp_path):
    _, (attempt,) = run(planned("races", "sanitized+racecheck"), tmp_path / "racecheck")
    findings = attempt.forensic["sanitizer"]["findings"]
    assert {(each["kind"], each["kernel"]) for each in findings} == {("race", "zoo_races")}, attempt.detail
    assert attempt.reason == "undefined_value"
    _, (attempt,) = run(planned("races", "sanitized"), tmp_path / "memcheck")
    assert str(attempt.outcome) == "ok", attempt.detail
