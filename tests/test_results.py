"""The store: what is added, what is read back, and what a hostile or broken file can do to it."""

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench import gpus
from workbench.results import OUTCOME_OF_REASON, Outcome, Result, Results, Standing, Trial, device
from workbench.store import load, parse, save
from workbench.strict_json import LONGEST_LINE

TRIAL = Trial("matmul", {"tokens": 16}, "eager", "example 1", "cpu")
OK = Result(TRIAL, run="r1", outcome=Outcome.OK, reason="ok", time={"samples_us": [1.0, 2.0, 3.0]})


def line(result=OK, **changed):
    return json.dumps({**asdict(result), **changed}).encode()


@pytest.mark.parametrize(
    ("gpu", "what"),
    [("NVIDIA H200", "gpu"), ("SM90", "gpu"), ("cpu", "cpu"), ("cpu of SM90 node", "cpu"), ("none", "none")],
)
def test_what_a_trial_names_as_its_device(gpu, what):
    assert device(gpu) == what


NAMES = (
    "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "Quadro RTX 6000/8000", "Orin (nvgpu)", "SM90, compiled only", "x" * 96,
    "cpu of SM90 node", "none",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_a_device_is_kept(name):
    assert parse(line(trial={**asdict(TRIAL), "gpu": name})).trial.gpu == name


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 97, "NVIDIA H200 ", "a\nb", "\x1b[31mH200", "H200\u202e", "H200\0", "NVIDIA Н200"]
)
def test_what_no_device_is_called_is_refused(tmp_path, name):
    (tmp_path / "a.jsonl").write_bytes(line(trial={**asdict(TRIAL), "gpu": name}) + b"\n" + line() + b"\n")
    results = load(tmp_path)
    assert results.attempts == (OK,)
    assert "trial.gpu is not 1 to 96 printable ASCII" in results.problems[0]
    assert results.problems[0].isprintable() and results.problems[0].isascii()


class Driver:
    """Looks like NVML with one card of this name."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, function):
        answers = {
            "nvmlDeviceGetCudaComputeCapability": (9, 0), "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=1),
            "nvmlDeviceGetName": self.name,
        }  # fmt: skip
        return lambda *_: answers.get(function, "x")


@pytest.mark.parametrize(
    "told, named",
    [("NVIDIA H200", "NVIDIA H200"), (" H\n® ", "H??"), ("", "unnamed GPU"), ("x" * 99, "x" * 96)],
)
def test_a_card_with_an_odd_name_loses_no_results(monkeypatch, told, named):
    monkeypatch.setitem(sys.modules, "pynvml", Driver(told))
    card = gpus.here()
    assert card and card.name == named
    assert parse(line(trial={**asdict(TRIAL), "gpu": card.name})).trial.gpu == named


def test_what_is_saved_is_loaded(tmp_path):
    save(OK, tmp_path / "card" / "a.jsonl")
    results = load(tmp_path)
    assert results.attempts == (OK,)
    assert results.attempts[0].median_us == 2.0


def test_a_torn_last_line_is_reported_and_the_next_line_is_kept_apart(tmp_path):
    file = tmp_path / "a.jsonl"
    save(OK, file)
    file.write_bytes(file.read_bytes() + line()[:100])
    assert "torn" in load(tmp_path).problems[0]
    save(replace(OK, attempt=2), file)
    results = load(tmp_path)
    assert [result.attempt for result in results] == [1, 2]
    assert len(results.problems) == 1


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (line(schema=99), "newer"),
        (line(schema="1"), "schema"),
        (line(outcome="excellent"), "excellent"),
        (line(stages={"time": "long"}), "number"),
        (line(time={"samples_us": [1e999]}).replace(b"Infinity", b"1e999"), "finite"),
        (line(time={"samples_us": [float("nan")]}), "NaN"),
        (line(detail=5), "detail"),
        (line(trial={"kernel": "x"}), "missing"),
        (line(trial={**asdict(TRIAL), "gpu": 5}), "trial"),
        (line(provenance={"environment": []}), "environment"),
        (b'{"schema": 1, "schema": 1}', "twice"),
        (b'{"schema": 1}', "trial"),
        (b"\xff\xfe{}", "utf-8"),
        (b"[" * 100_000, "recursion"),
        (b"[]", "object"),
        (b"null", "object"),
        (line(detail="x" * LONGEST_LINE), "bytes"),
    ],
)
def test_a_line_that_cannot_be_used_is_reported_and_the_rest_is_used(tmp_path, bad, says):
    (tmp_path / "a.jsonl").write_bytes(bad + b"\n" + line() + b"\n")
    results = load(tmp_path)
    assert len(results) == 1
    assert says.lower() in results.problems[0].lower()
    assert len(results.problems[0]) < 500


def test_unknown_keys_are_no_reason_to_lose_a_line():
    assert parse(line(added_later={"x": 1})) == OK


@pytest.mark.parametrize("apart", ["local", "compiled"])
def test_what_is_kept_apart_is_read_only_when_it_is_named(tmp_path, apart):
    save(OK, tmp_path / apart / "a.jsonl")
    assert len(load(tmp_path)) == 0
    assert len(load(tmp_path / apart)) == 1


def test_only_an_ok_result_has_samples():
    with pytest.raises(ValueError, match="no samples"):
        replace(OK, outcome=Outcome.WRONG)


def standing(*outcomes, attempts=None):
    made = [
        replace(OK, outcome=outcome, time={}, attempt=number)
        for number, outcome in enumerate(outcomes, start=1 if attempts is None else attempts)
    ]
    folder = {result.trial: made for result in made}
    from workbench.results import Results

    return Results(tuple(result for each in folder.values() for result in each)).trials()[TRIAL]


def test_attempts_that_differ_make_a_trial_flaky():
    found = standing(Outcome.OK, Outcome.CRASHED, Outcome.OK)
    assert found.flaky
    assert found.word == "flaky 1/3 crashed"


def test_a_planned_line_gives_way_to_an_attempt():
    assert standing(Outcome.NOT_RUN, attempts=0).outcome == Outcome.NOT_RUN
    assert standing(Outcome.NOT_RUN, Outcome.OK, attempts=0).word == "ok"


def test_an_attempt_that_did_not_run_says_nothing_against_one_that_did():
    assert standing(Outcome.OK, Outcome.NOT_RUN).word == "ok"


def at(outcome, kernel="k1", lock="e1", started="2026-01-01", attempt=1, **facts):
    known = {"environment": {"hash": lock}, "started": started}
    time = OK.time if outcome == Outcome.OK else {}
    return replace(
        OK, outcome=outcome, time=time, kernel_hash=kernel, provenance=known, attempt=attempt, **facts
    )


@pytest.mark.parametrize("older", [dict(kernel="k0"), dict(lock="e0")])
def test_attempts_at_an_earlier_version_are_counted_and_not_judged(older):
    old, new = at(Outcome.CRASHED, **older), at(Outcome.OK, started="2026-01-02")
    for order in ((old, new), (new, old)):  # files are read by name, not by age
        found = Standing.of(list(order))
        assert (found.word, found.tried, found.earlier) == ("ok", 1, 1)
    undone = at(Outcome.CRASHED, **older, started="2026-01-03")
    assert (
        Standing.of([old, new, undone]).outcome == Outcome.CRASHED
    )  # somebody went back, and that is what is


def test_visits_of_interleaved_processes_are_attempts_at_one_trial():
    visits = [at(Outcome.OK, generation=n, visit=1, arm="a", inputs_hash=str(n)) for n in (1, 2)]
    found = Standing.of([*visits, at(Outcome.WRONG, generation=2, visit=2, arm="b")])
    assert (found.word, found.earlier) == ("flaky 1/3 wrong", 0)


def test_an_environment_that_could_not_be_made_says_nothing_of_one_that_was():
    assert Standing.of([at(Outcome.OK), at(Outcome.NOT_BUILT, lock="", started="2026-01-09")]).word == "ok"
    assert Standing.of([at(Outcome.NOT_BUILT, lock="")]).outcome == Outcome.NOT_BUILT


def test_a_plan_of_a_newer_version_does_not_hide_what_is_known():
    assert Standing.of([at(Outcome.OK), at(Outcome.NOT_RUN, kernel="k2", attempt=0)]).word == "ok"


def test_a_changed_call_speaks_against_a_version_and_a_refusal_does_not():
    assert Standing.of([replace(at(Outcome.MISSING), reason="api_changed")]).against
    assert not Standing.of([replace(at(Outcome.MISSING), reason="component_missing")]).against
    assert not Standing.of([at(Outcome.UNSUPPORTED)]).against


def test_every_reason_has_an_outcome_and_every_outcome_a_reason():
    assert set(OUTCOME_OF_REASON.values()) == set(Outcome)


FILLS_UP = """
import resource, signal, sys
from pathlib import Path
from workbench.results import *
from workbench.store import save
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = Path(sys.argv[1])
result = Result(Trial("k", {}, "eager", "e", "cpu"), "r", Outcome.OK, "ok")
save(result, file)
size = file.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, size + 20))
try:
    save(result, file)
except OSError as problem:
    sys.exit(0 if file.stat().st_size == size else "a part of a line was left")
sys.exit("no error")
"""


def test_a_disk_that_fills_up_leaves_the_file_as_it_was(tmp_path):
    assert resource.RLIMIT_FSIZE
    done = subprocess.run(
        [sys.executable, "-c", FILLS_UP, tmp_path / "a.jsonl"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(load(tmp_path)) == 1


def test_a_rerun_explains_a_trial_and_does_not_count_in_it():
    crash = replace(OK, outcome=Outcome.CRASHED, reason="illegal_memory_access", time={}, rerun="located")
    crash = replace(crash, attempt=2, forensic={"fault": {"kernel": "k"}})
    assert parse(line(crash)) == crash
    assert Standing.of([OK, crash]) == Standing(OK, 1, 1, (Outcome.OK,))


def test_a_trial_is_named_by_what_it_is_alone():
    same = Trial("matmul", {"tokens": 16}, "eager", "example 1", "cpu")
    assert TRIAL.id == same.id and len(TRIAL.id) == 10
    assert TRIAL.id != replace(TRIAL, mode="graph").id


def test_what_was_found_once_is_not_looked_for_again():
    results, asked = Results((OK, replace(OK, attempt=2))), []
    assert results.once("count", lambda found: asked.append(1) or len(found)) == 2
    assert results.once("count", lambda found: asked.append(1) or len(found)) == 2
    assert asked == [1]
    assert results.trials() is results.trials() and results == Results(results.attempts)
    assert results.only(gpu=["cpu"]).once("count", len) == 2


def test_a_line_that_is_there_again_is_the_same_attempt(tmp_path):
    first, second = OK, replace(OK, attempt=2, outcome=Outcome.WRONG, reason="wrong_numbers", time={})
    for each in (first, second, second):
        save(each, tmp_path / "card" / "a.jsonl")
    shutil.copytree(tmp_path / "card", tmp_path / "copy of card")
    found = load(tmp_path, tmp_path / "card")
    assert list(found) == [first, second]
    assert found.trials()[TRIAL].word == "flaky 1/2 wrong"
    other = replace(second, detail="what another says of the same attempt")
    save(other, tmp_path / "card" / "a.jsonl")
    assert list(load(tmp_path)) == [first, second, other]


def test_a_folder_that_cannot_be_read_is_a_problem_and_the_rest_is_used(tmp_path, monkeypatch):
    for name in ("a", "b"):
        save(OK, tmp_path / name / "a.jsonl")
    scandir = os.scandir

    def refused(path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)  # root may read everything
    found = load(tmp_path)
    assert found.problems == ("a: Permission denied",)
    assert len(found) == 1
    assert load(tmp_path / "a").problems == (f"{tmp_path / 'a'}: Permission denied",)
    assert load(tmp_path / "nobody").problems == ()
