"""The border, with real processes that really die, and no GPU."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from workbench import environments, planning, runner
from workbench.results import Outcome
from workbench.store import load
from workbench.workers import LIMITS_S, Worker

ZOO = Path(__file__).parent / "kernels"
EXPECTED = {
    "right": "ok",
    "raises": "failed",
    "leaves": "crashed",
    "exits": "crashed",
    "aborts": "crashed",
    "segfaults": "crashed",
    "hangs": "hung",
    "hangs_talking": "hung",
    "floods": "ok",
    "garbage": "failed",
    "child": "ok",
    "allocates": "out_of_memory",
    "wrong": "wrong",
    "nan": "wrong",
    "zeros": "wrong",
    "refuses": "unsupported",
    "interrupts": "crashed",
}
SAYS = {
    "exits": "exit code 0",
    "aborts": "SIGABRT",
    "segfaults": "SIGSEGV",
    "hangs": "not done after 4 s",
    "garbage": "channel",
    "allocates": "memory",
    "nan": "not finite",
    "refuses": "numbers of this size",
}


def strangers():
    """Processes of this test session, known by a mark in their environment, that are still there."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        try:
            mine = process.environ().get("WORKBENCH_TESTS") == os.environ["WORKBENCH_TESTS"]
        except psutil.Error:
            continue
        text = " ".join(process.info["cmdline"] or [])
        if mine and ("time.sleep(600)" in text or "start.py" in text or "guard.py" in text):
            found.append(text)
    return found


@pytest.mark.slow
def test_every_way_to_fail_has_its_own_row_and_neighbours_are_untouched(zoo):
    results = zoo()
    trials = {trial.case["place"]: standing for trial, standing in results.trials().items()}
    got = [
        (standing.result.trial.case["how"], str(standing.outcome)) for _, standing in sorted(trials.items())
    ]
    assert got == [(how, EXPECTED[how]) for how, _ in got]
    assert len(got) == 20
    for standing in trials.values():
        assert SAYS.get(standing.result.trial.case["how"], "") in standing.result.detail
    assert not strangers()


@pytest.mark.slow
def test_what_was_printed_is_kept_and_capped(zoo):
    (result,) = [each for each in zoo(how=["floods"]) if each.attempt]
    assert "a flood of words" in result.stdout
    assert len(result.stdout) < 10_000


@pytest.mark.slow
def test_stacks_of_a_hang_are_kept(zoo):
    (result,) = [each for each in zoo(how=["hangs"]) if each.attempt]
    assert "_hangs" in result.stderr
    assert result.stages["first_call"] >= 2


def test_an_answer_that_was_right_stays_right_when_its_process_then_dies(zoo):
    (result,) = [each for each in zoo("teardown") if each.attempt]
    assert result.outcome == Outcome.OK
    assert "SIGSEGV at its end" in result.detail


def test_a_function_that_is_not_there_is_missing(zoo):
    (result,) = [each for each in zoo("absent") if each.attempt]
    assert (result.outcome, result.stage, result.reason) == (Outcome.MISSING, "find", "api_changed")
    assert "no_such_function" in result.detail


def test_a_second_run_measures_nothing_and_changes_no_byte(zoo, tmp_path):
    zoo(how=["right", "wrong"])
    before = {file: file.read_bytes() for file in (tmp_path / "results").rglob("*.jsonl")}
    zoo(how=["right", "wrong"])
    assert zoo.summary.skipped == zoo.summary.planned
    assert before == {file: file.read_bytes() for file in (tmp_path / "results").rglob("*.jsonl")}


def test_again_adds_an_attempt(zoo):
    zoo(how=["wrong"])
    assert [result.attempt for result in zoo(how=["wrong"], again=True)] == [0, 1, 2]


def test_an_environment_that_cannot_be_built_fills_its_column(tmp_path):
    kernel = planning.from_file(ZOO / "misbehaving.py")
    nothing = environments.parse("no-such-package-of-anyone==0")
    planned = planning.plan([kernel], [nothing], ["eager"], gpu=None)
    (tmp_path / "wheels").mkdir()
    options = runner.Options(
        results=tmp_path, wheels=tmp_path / "wheels", environments_folder=tmp_path / "e", quiet=True
    )
    summary = runner.run(planned, None, options)
    assert summary.outcomes == {"not_built": 20}
    details = {result.detail for result in load(tmp_path) if result.attempt}
    assert len(details) == 1
    assert "no-such-package-of-anyone" in details.pop()


def test_what_a_library_does_instead_of_a_refused_build_is_no_outcome(zoo):
    trials = zoo("refused", no_build=True).trials()
    found = {trial.case["how"]: (str(each.outcome), each.result.detail) for trial, each in trials.items()}
    assert found.pop("asks_for_nothing")[0] == "ok"
    assert len(found) == 5
    assert all(
        outcome == "not_run" and "a_module is not there" in said for outcome, said in found.values()
    ), found


def test_no_folder_for_environments_is_told_and_not_stored(zoo, tmp_path):
    (tmp_path / "e").touch()
    with pytest.raises(OSError, match="the folder for environments cannot be used"):
        zoo(how=["right"], environments_folder=tmp_path / "e")
    assert not load(tmp_path / "results")


def test_without_a_gpu_a_kernel_for_one_is_found_and_not_run(tmp_path):
    file = tmp_path / "gpu_only.py"
    file.write_text((ZOO / "teardown.py").read_text().replace('("cpu",)', '("cuda",)'))
    kernel = planning.from_file(file)
    planned = planning.plan([kernel], [environments.parse("here", sys.executable)], ["eager"], gpu=None)
    runner.run(planned, None, runner.Options(results=tmp_path / "r", quiet=True))
    (result,) = [each for each in load(tmp_path / "r") if each.attempt]
    assert (result.outcome, result.stage, result.trial.gpu) == (Outcome.NOT_RUN, "find", "none")
    assert result.found["signature"] == "(x, /)"


@pytest.mark.slow
def test_limits_are_per_stage(zoo):
    (result,) = [each for each in zoo(how=["hangs"], limits_s={"first_call": 0.5}) if each.attempt]
    assert "first_call: not done after 0.5 s" in result.detail


def test_nothing_is_left_when_the_caller_is_interrupted(tmp_path):
    worker = Worker(Path(sys.executable), os.environ)
    command = {
        "kernel_file": str(ZOO / "misbehaving.py"),
        "mode": "eager",
        "device": "cpu",
        "sm": "",
        "effort": "quick",
    }
    case = {"how": "hangs", "place": 0}
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    signal.alarm(1)
    try:
        with pytest.raises(KeyboardInterrupt):
            worker.run({**command, "case": case}, LIMITS_S)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not strangers()


def start(results, *more):
    limits = [part for stage in ("first_call", "time") for part in ("--limit", f"{stage}=2")]
    command = [
        "run",
        "--kernel-file",
        ZOO / "misbehaving.py",
        "--python",
        sys.executable,
        "--results",
        results,
    ]
    command += [*limits, "--effort", "quick", "--memory-mb", "300", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def squares(results):
    return {trial.label: standing.word for trial, standing in load(results).trials().items()}


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_gives_the_same_matrix(tmp_path):
    whole = tmp_path / "whole"
    start(whole).communicate(timeout=120)
    broken = tmp_path / "broken"
    moments = random.Random(7)
    for turn in range(6):
        process = start(broken)
        time.sleep(moments.uniform(0.2, 4))
        while turn == 5 and not [each for each in load(broken) if each.attempt]:
            time.sleep(0.1)  # on a busy machine nothing may have been done so far
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert set(squares(broken)) in (set(), set(squares(whole)))  # a row for each trial, or not begun
    time.sleep(1)
    assert not strangers()
    process = start(broken, "--json")
    summary = json.loads(process.communicate(timeout=120)[0])
    assert summary["skipped"] > 0
    assert squares(broken) == squares(whole)
    assert not load(broken).problems


@pytest.mark.slow
def test_ctrl_c_saves_and_stops(tmp_path):
    process = start(tmp_path / "r")
    while not any(word == "ok" for word in squares(tmp_path / "r").values()):
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 3
    assert "run the same command again" in output
    assert any(word == "ok" for word in squares(tmp_path / "r").values())
    assert not strangers()
