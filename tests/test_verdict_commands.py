"""`compare` and `check` as a user types them: formats, exit codes, and errors that name the fix. Nothing is run."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from process_times import NEW, OLD
from test_verdict import both, timed

from workbench.store import save_all

ZOO = Path(__file__).parent / "kernels"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("attempts", "code", "answer"),
    [(timed(), 0, "BUMP"), (timed(after=1.05), 1, "HOLD"), (both("ok", "missing_cubin"), 3, "NEED DATA")],
)
@pytest.mark.parametrize("how", ["table", "markdown", "json", "html"])
def test_the_exit_code_is_the_answer(tmp_path, typed, attempts, code, answer, how):
    save_all(attempts, tmp_path / "r" / "a.jsonl")
    got, out, _ = typed("compare", "r", "--baseline", OLD, "--candidate", NEW, "--format", how)
    assert (got, answer in out) == (code, True)


def test_the_candidate_in_use_is_kept_or_reverted(tmp_path, typed):
    save_all(timed(after=1.05), tmp_path / "r" / "a.jsonl")
    code, out, _ = typed("compare", "r", "--baseline", "1", "--candidate", "2", "--current", "2", "--json")
    assert (code, json.loads(out)["answer"]) == (1, "REVERT")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--baseline", OLD, "--candidate", "nobody"), "no environment has 'nobody'"),
        (("--baseline", OLD, "--candidate", OLD), "against itself"),
        (("--baseline", OLD, "--candidate", NEW, "--policy", "p.toml"), "'margn' is not known"),
        (("--baseline", OLD, "--candidate", NEW, "--policy", "none.toml"), "none.toml"),
        (("--baseline", OLD, "--candidate", NEW, "--mode", "grpah"), "no mode 'grpah'"),
    ],
)
def test_bad_usage_is_named(tmp_path, typed, words, says):
    save_all(timed(), tmp_path / "r" / "a.jsonl")
    (tmp_path / "p.toml").write_text("margn = 1")
    code, _, err = typed("compare", "r", *words)
    assert code == 2 and says in err


def test_a_gpu_without_results_needs_data(tmp_path, typed):
    save_all(timed(), tmp_path / "r" / "a.jsonl")
    code, out, _ = typed("compare", "r", "--baseline", OLD, "--candidate", NEW, "--gpu", "B300")
    assert code == 3 and "workbench check" in out


def test_the_policy_is_documented_where_it_is_asked_for(typed):
    for command in ("compare", "check"):
        assert "[[weight]]" in typed(command, "--help")[1]


def test_a_plan_runs_nothing_and_says_how_much(tmp_path, typed):
    asked = [
        "check",
        sys.executable,
        "here",
        "--kernel-file",
        ZOO / "planted_rest.py",
        "--plan-only",
        "--json",
    ]
    code, out, _ = typed(*asked)
    assert code == 0
    assert json.loads(out) | {"baseline": "", "candidate": ""} == {
        "baseline": "", "candidate": "", "trials": 1, "open": 1, "processes": 5, "seconds": 0, "of_unknown_time": 1,
        "site": None,
    }  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("candidate", "code"),
    [("flashinfer==0.6.12", 0), ("flashinfer==9.9.9", 2), ("flashinfer==0.6.12 einops==9.9", 2)],
)
def test_a_plan_names_a_release_that_there_is_not(tmp_path, typed, candidate, code):
    for version in ("0.6.8.post1", "0.6.12"):
        (tmp_path / f"flashinfer_python-{version}-py3-none-any.whl").touch()
    got, out, err = typed("check", "flashinfer==0.6.8.post1", candidate, "--wheels", tmp_path, "--plan-only")
    assert got == code
    assert bool(out) == (code == 0) and ("there is no" in err) == (code == 2)
    assert ("9.9" in err) == (code == 2)


def test_a_check_ends_at_a_version_that_there_is_not_and_names_the_nearest(tmp_path, typed):
    for version in ("0.6.7", "0.6.8", "0.6.8.post1", "0.6.9", "0.7.0"):
        (tmp_path / f"flashinfer_python-{version}-py3-none-any.whl").touch()
    code, out, err = typed("check", "flashinfer==0.6.8.post2", sys.executable, "--wheels", tmp_path)
    assert (code, out) == (2, "")
    assert "there is no flashinfer-python==0.6.8.post2 in" in err
    assert err.rstrip().endswith("; nearest: 0.6.8, 0.6.8.post1, 0.6.9, 0.7.0")


def test_the_nearest_to_no_exact_version_are_the_newest():
    from workbench.environments.absence import nearest

    assert nearest(("1", "2", "10"), None) == nearest(("1", "2", "10"), "11") == ("2", "10")
    assert nearest(("1", "2", "10"), "0.1") == ("1", "2") and nearest((), "1") == ()


@pytest.mark.parametrize("number", ["-1", "0", "nan", "inf", "many"])
@pytest.mark.parametrize(
    "words",
    [
        ("bundle", "--kernel", "fp4_quantize", "--output", "x.zip", "--limit-mb"),
        ("repro", "--list", "--limit"),
    ],
)
def test_a_limit_is_a_number_above_0(typed, words, number):
    code, out, err = typed(*words, number)
    assert (code, out) == (2, "") and "is no number above 0" in err


@pytest.mark.parametrize("words", [("bundle", "--output", "x.zip"), ("stack", "sglang==0.5.12")])
@pytest.mark.parametrize("version", ["abc", "2.7", "3", "312", "3.12;"])
def test_a_python_is_written_like_3_12(typed, words, version):
    code, _, err = typed(*words, "--for-python", version)
    assert code == 2 and "write it like 3.12" in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("flashinfer==0.6.12", "flashinfer==0.6.12"), "a wheel built anew needs a version of its own"),
        (
            ("flashinfer==0.6.12", "flashinfer==0.6.13", "--environment", "here"),
            "unrecognized arguments: --environment",
        ),
        (("flashinfer==0.6.12", "flashinfer==0.6.13", "--current", "x"), "--current is one of the two"),
        (("flashinfer", "flashinfer==0.6.13"), "pin it"),
        ((sys.executable, "here", "--kernel-file", ZOO / "planted.py"), "give the kernel file another name"),
        (
            (sys.executable, "here", "--mode", "eager", "--mode", "piecewise+fenced"),
            "piecewise+fenced has no vote",
        ),
        ((sys.executable, "here", "--site", "/proc/none"), "--notebooks notebooks: no such folder"),
        (
            (sys.executable, "here", "--site", "/proc/none", "--notebooks", "/"),
            "No such file or directory: /proc/none",
        ),
    ],
)
def test_what_check_cannot_use_is_named_before_anything(tmp_path, typed, words, says):
    code, _, err = typed("check", *words)
    assert code == 2 and says in err
    assert not list(tmp_path.iterdir())


def test_what_would_settle_it_is_asked_as_it_was_asked_here(tmp_path, typed):
    """The command that is suggested can be pasted: kernel files by their path, and where the wheels are."""
    (tmp_path / "torn-1.0+a-py3-none-any.whl").write_text("no wheel")
    (tmp_path / "torn-1.0+b-py3-none-any.whl").write_text("no wheel")
    sides = [str(tmp_path / f"torn-1.0+{letter}-py3-none-any.whl") for letter in "ab"]
    own = [
        "--kernel-file",
        str(ZOO / "planted_rest.py"),
        "--python",
        sys.executable,
        "--wheels",
        str(tmp_path),
    ]
    code, out, _ = typed("check", *sides, *own, "--results", str(tmp_path / "r"), "--json")
    (settle,) = json.loads(out)["families"][0]["settle"]
    assert code == 3
    words = shlex.split(settle["command"])
    assert words == ["workbench", "check", *sides, *own, "--results", str(tmp_path / "r")]


def test_an_interrupted_check_measures_nothing_more_and_says_no_verdict(tmp_path, typed, monkeypatch):
    """A crash was found until then, which would be run again."""
    from workbench import checking, runner
    from workbench.options import Summary

    runs = []

    def run(todo, gpu, options):
        runs.append(options)
        return Summary("run", len(todo), stopped="interrupted")

    monkeypatch.setattr(runner, "run", run)
    monkeypatch.setattr(checking, "examine", lambda *_: checking.Reading())
    code, out, err = typed(
        "check", sys.executable, "here", "--kernel-file", ZOO / "planted_rest.py", "--results", tmp_path / "r"
    )
    assert (code, out, len(runs)) == (3, "", 1)
    assert "run the same command again" in err


@pytest.mark.parametrize("how", ["table", "markdown", "json", "html"])
def test_what_could_not_be_read_is_said_beside_the_answer(tmp_path, typed, how):
    save_all(timed(), tmp_path / "r" / "a.jsonl")
    with (tmp_path / "r" / "a.jsonl").open("a") as file:
        file.write('{"torn')
    code, out, err = typed("compare", "r", "--baseline", OLD, "--candidate", NEW, "--format", how)
    assert code == 0 and "not used" in err
    assert "a.jsonl:11" in out if how == "json" else "1 thing in the results that could not be read" in out


def test_what_could_not_be_read_is_said_where_there_is_no_verdict_either(tmp_path, typed):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.jsonl").write_text('{"torn')
    code, _, err = typed("compare", "r", "--baseline", OLD, "--candidate", NEW)
    assert code == 2 and "a.jsonl:1" in err and "no environment has" in err


def test_what_neither_side_has_is_listed_once_and_is_no_change(monkeypatch):
    """Two kernels may call one function."""
    from types import SimpleNamespace

    from workbench.checking import examine, reading

    monkeypatch.setattr(reading, "_skews", lambda sides: {})
    here = SimpleNamespace(python=sys.executable)
    (part,) = examine(here, here, ["json.nobody", "json.nobody"]).parts()
    said = "0 changes of functions that are called here, and 1 function that neither side has"
    assert part.title == f"Read, not run: {said}; no vote"
    assert [row[:2] for row in part.rows] == [("json.nobody", "function_unknown")]
