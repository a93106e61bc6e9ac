"""The command a user types, over wheels made here: releases with planted faults, locks with one and two culprits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from made_wheels import make_wheel

from workbench import cli, runner
from workbench.store import load

ZOO = Path(__file__).parent / "kernels"
MODULE = """
import time


def work(size, scale=1.0):
    {first}
    return [scale * (n + 1.0) for n in range(size)]
"""
RELEASES = {
    "1.0": "pass",
    "1.1": "pass",
    "1.2": "raise_on_import",
    "1.3rc1": "pass",
    "1.3": "pass",
    "1.4": "scale *= 1.5 if size == 4 else 1.0",
    "1.5": "needs_what_there_is_not",
    "1.6": "scale *= 1.5 if size == 4 else 1.0",
    "1.7": "raise ValueError('broken otherwise') if size == 4 else None",
}
HELPED = "import alpha\nimport beta\n" + MODULE.format(
    first="scale *= 1.5 if alpha.new and beta.new and size == 4 else 1.0"
)
FLAKY = """
import os

new = not os.path.exists({mark!r})
open({mark!r}, "a").close()
"""


def release(folder, version, how):
    text = "raise ImportError('not here')\n" if how == "raise_on_import" else MODULE.format(first=how)
    requires = ("there-is-not",) if how == "needs_what_there_is_not" else ()
    make_wheel(folder, "planted", version, {"planted/__init__.py": text}, requires)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bisect")
    for version, how in RELEASES.items():
        release(folder, version, how)
    for version in ("2.0", "3.0"):
        make_wheel(folder, "planted", version, {"planted/__init__.py": HELPED}, ("alpha", "beta"))
    for name in ("alpha", "beta", "gamma", "delta"):
        for version, new in (("1.0", False), ("2.0", True)):
            make_wheel(folder, name, version, {f"{name}.py": f"new = {new}\n"})
    return folder


@pytest.fixture
def bisect(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(place)  # environments are shared, results are not

    def run(*words, case="size=4", kernel=ZOO / "planted_work.py"):
        given = ["--wheels", place, "--results", tmp_path / "r", "--effort", "quick", "--memory-mb", "700"]
        asked = ["bisect", "--kernel-file", kernel, "--case", case, *given, *words]
        try:
            code = cli.main([str(word) for word in asked])
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    run.results = tmp_path / "r"
    return run


RANGE = ("--good", "planted==1.0", "--bad", "planted==1.6")


def answers(found):
    return {each["environment"]: each["answer"] for each in found["probes"]}


@pytest.mark.slow
def test_the_first_wrong_release_is_found_past_what_cannot_be_built_or_imported(bisect):
    code, out, err = bisect(*RANGE, "--json")
    found = json.loads(out)
    assert code == 1, err
    assert (found["last_good"]["environment"], found["first_bad"]["environment"]) == (
        "planted 1.3",
        "planted 1.4",
    )
    assert found["exact"] and found["left_out"] == {"1.3rc1": "pre-release"}
    assert found["first_bad"]["why"].startswith("wrong: ") and found["first_bad"]["attempts"] == 2
    trials = {trial.id: trial.environment for trial in load(bisect.results).trials()}
    assert trials[found["first_bad"]["trial"]] == "planted 1.4"
    assert trials[found["last_good"]["trial"]] == "planted 1.3"


@pytest.mark.slow
def test_what_is_stored_is_used_again_and_an_interrupted_search_goes_on(bisect, monkeypatch):
    real, runs = runner.run, []

    def interrupted(planned, gpu, options):
        runs.append(planned)
        if len(runs) == 6:
            summary = real([], gpu, options)
            summary.stopped = "interrupted"
            return summary
        return real(planned, gpu, options)

    monkeypatch.setattr(runner, "run", interrupted)
    code, _, err = bisect(*RANGE)
    assert code == 3 and "run the same command again to go on" in err
    before = len([each for each in load(bisect.results) if each.attempt])
    code, out, _ = bisect(*RANGE, "--json")
    found = json.loads(out)
    assert code == 1 and found["first_bad"]["environment"] == "planted 1.4"
    assert [each["made"] for each in found["probes"]][:2] == [0, 0]
    after = [each for each in load(bisect.results) if each.attempt]
    assert before == 5 and max(each.attempt for each in after) == 2  # none was made twice
    count = len(runs)
    assert bisect(*RANGE)[0] == 1 and len(runs) == count


@pytest.mark.slow
def test_both_ends_are_asked_first(bisect):
    code, out, err = bisect("--good", "planted==1.1", "--bad", "planted==1.3", "--until", "crash", "--json")
    assert code == 2 and "the bad end is good" in json.loads(out)["problem"], err
    code, out, _ = bisect("--good", "planted==1.4", "--bad", "planted==1.1", "--until", "wrong")
    assert code == 2 and "the good end is bad: planted 1.4" in out
    code, out, _ = bisect("--good", "planted==1.0", "--bad", "planted==1.2")
    assert code == 3 and "whether the bad end is bad cannot be told: planted 1.2: failed" in out
    code, out, _ = bisect("--good", "planted==1.4", "--bad", "planted==1.7", "--until", "crash")
    assert code == 3 and "whether the good end is good cannot be told: planted 1.4: wrong" in out


@pytest.mark.slow
def test_a_crash_is_not_a_wrong_number(bisect):
    code, out, _ = bisect("--good", "planted==1.3", "--bad", "planted==1.7", "--until", "crash", "--json")
    found = json.loads(out)
    assert code == 3 and found["first_bad"]["environment"] == "planted 1.7"
    assert found["unsure"] == ["1.4", "1.5", "1.6"] and answers(found)["planted 1.4"] == "cannot tell"
    assert "cannot be built" in next(
        each["why"] for each in found["probes"] if each["environment"].endswith("1.5")
    )


def spec(version, **packages):
    return " ".join([f"planted=={version}", *(f"{name}=={number}" for name, number in packages.items())])


OLD = dict(alpha="1.0", beta="1.0", gamma="1.0", delta="1.0")


@pytest.mark.slow
def test_the_pair_of_packages_that_flips_it_is_named(bisect):
    new = dict.fromkeys(OLD, "2.0")
    code, out, err = bisect("--good", spec("2.0", **OLD), "--bad", spec("3.0", **new), "--json")
    found = json.loads(out)
    assert (found["over"], code) == ("lock", 1), err
    assert [each["package"] for each in found["flips"]] == ["alpha", "beta"]
    assert found["flips"][0] == {"package": "alpha", "before": "1.0", "after": "2.0"}
    assert found["first_bad"]["environment"].endswith("with alpha 2.0, beta 2.0")
    built = {each.provenance["environment"]["name"]: each.provenance["environment"] for each in load(bisect.results)
             if each.attempt}  # fmt: skip
    mixed = built[found["first_bad"]["environment"]]["packages"]
    assert mixed == {"planted": "2.0", **OLD, "alpha": "2.0", "beta": "2.0"}


@pytest.mark.slow
def test_one_package_is_named_and_what_has_nothing_to_do_with_it_is_not(bisect):
    good, bad = (
        spec("2.0", **OLD | {"beta": "2.0"}),
        spec("2.0", **OLD | {"alpha": "2.0", "beta": "2.0", "gamma": "2.0"}),
    )
    code, out, _ = bisect("--good", good, "--bad", bad)
    assert code == 1 and out.startswith("flips it    alpha 1.0 -> 2.0\n")
    code, out, _ = bisect("--good", good, "--bad", bad, "--plan-only", "--json")
    plan = json.loads(out)
    assert code == 0 and plan["between"] == ["alpha 1.0 -> 2.0", "gamma 1.0 -> 2.0"]
    assert plan["seconds"] is not None and plan["stored"] >= 4


@pytest.mark.slow
def test_a_mixture_that_cannot_be_imported_leaves_a_package_in_doubt(bisect, place):
    needs_new = "import alpha\nassert alpha.new\n" + MODULE.format(first=RELEASES["1.4"])
    make_wheel(place, "planted", "4.0", {"planted/__init__.py": needs_new}, ("alpha",))
    good, bad = "planted==2.0 alpha==1.0 beta==1.0", "planted==4.0 alpha==2.0 beta==1.0"
    code, out, _ = bisect("--good", good, "--bad", bad)
    assert code == 3 and "flips it    alpha 1.0 -> 2.0 and planted 2.0 -> 4.0" in out
    assert "cannot tell alpha: perhaps not needed" in out
    assert "with planted 4.0: failed: AssertionError: " in out


@pytest.mark.slow
def test_another_fault_on_the_way_is_said(bisect):
    code, out, _ = bisect("--good", "planted==1.3", "--bad", "planted==1.7")
    assert code == 1 and out.startswith("first bad") and "planted 1.4: wrong" in out
    assert "the bad end is failed, this is wrong: say with --until which is meant" in out


@pytest.mark.slow
def test_flaky_is_never_good(bisect, tmp_path):
    """Wrong in the first process that imports it, right from then on."""
    (tmp_path / "wheels").mkdir()
    release(tmp_path / "wheels", "1.6", RELEASES["1.6"])
    once = FLAKY.format(mark=str(tmp_path / "mark")) + MODULE.format(first="scale *= 1.5 if new else 1.0")
    make_wheel(tmp_path / "wheels", "planted", "1.0", {"planted/__init__.py": once})
    code, out, _ = bisect(*RANGE, "--wheels", tmp_path / "wheels")
    assert (
        code == 3 and "planted 1.0: wrong: worst row off by 0.5" in out and "(flaky, 1 of 4 attempts)" in out
    ), out


@pytest.mark.slow
def test_slower_is_compared_by_turns_with_the_good_end(bisect, tmp_path, monkeypatch):
    folder = tmp_path / "timed"
    monkeypatch.chdir(tmp_path)
    for version, tick in (("1.0", 1), ("1.1", 1), ("1.2", 2), ("1.3", 2)):
        release(folder, version, f"time.sleep(size * {tick} * 0.0005)")
    asked = (
        "--good", "planted==1.0", "--bad", "planted==1.3", "--until", "slower", "--margin", "0.15", "--wheels", folder,
        "--generations", "4", "--json", "--case", "size=8",
    )  # fmt: skip
    code, out, err = bisect(*asked)
    found = json.loads(out)
    assert code == 1, err
    assert (found["last_good"]["environment"], found["first_bad"]["environment"]) == (
        "planted 1.1",
        "planted 1.2",
    )
    assert "n=4+4" in found["first_bad"]["why"]
    assert any(each.generation for each in load(bisect.results))
    count = len(load(bisect.results))
    assert bisect(*asked)[0] == 1 and len(load(bisect.results)) == count


@pytest.mark.slow
@pytest.mark.parametrize(("version", "code"), [("1.3", 0), ("1.4", 1), ("1.2", 125), ("1.5", 125)])
def test_a_step_answers_as_git_wants_it(bisect, version, code):
    told, out, _ = bisect("--step", "--environment", f"planted=={version}", "--until", "wrong")
    assert told == code
    assert out.startswith({0: "good: ok", 1: "bad: wrong", 125: "cannot tell: "}[code])


def git(folder, *words):
    names = ["-c", "user.name=t", "-c", "user.email=t", "-c", "init.defaultBranch=main", "-C", folder]
    return subprocess.run(["git", *names, *words], capture_output=True, text=True, timeout=200)


@pytest.mark.slow
def test_git_finds_the_commit(tmp_path):
    """In a checkout that an interpreter imports from: nothing of it is in that interpreter's packages."""
    checkout, venv = tmp_path / "checkout", tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (next(venv.glob("lib/python*/site-packages")) / "planted.pth").write_text(str(checkout))
    (checkout / "planted").mkdir(parents=True)
    git(checkout, "init")
    (checkout / ".gitignore").write_text("__pycache__")
    told = [
        "pass",
        "pass",
        "import not_there",
        "pass",
        "scale *= 1.5 if size == 4 else 1.0",
        "import not_there",
    ]
    for number, how in enumerate([*told, "scale *= 1.5 if size == 4 else 1.0"]):
        (checkout / "planted/__init__.py").write_text(MODULE.format(first=f"{how}  # {'.' * number}"))
        git(checkout, "add", ".")
        git(checkout, "commit", "-m", f"change {number}")
    git(checkout, "bisect", "start", "HEAD", "HEAD~6")
    step = [
        sys.executable,
        "-m",
        "workbench",
        "bisect",
        "--step",
        "--python",
        venv,
        "--until",
        "wrong",
        "--kernel-file",
    ]
    done = git(checkout, "bisect", "run", *step, ZOO / "planted_work.py", "--case", "size=4", "--effort", "quick",
               "--memory-mb", "700", "--results", tmp_path / "r")  # fmt: skip
    assert "is the first bad commit" in done.stdout and "change 4" in done.stdout, done.stdout + done.stderr
    assert all(" at " in trial.environment for trial in load(tmp_path / "r").trials())


@pytest.mark.parametrize(
    "words",
    [
        ("--nonsense",),
        ("--until", "never"),
        ("--environment", "planted"),
        ("--environment", "planted==1.3", "--until", "slower"),
        ("--environment", "planted==1.3", "--bad", "planted==1.6"),
        ("--environment", "planted==1.3", "--environment", "planted==1.4"),
        ("--environment", "planted==1.3", "--kernel-file", "other.py"),
        (),
    ],
)
def test_a_step_that_is_asked_wrongly_ends_the_bisection_and_never_says_bad(bisect, words):
    assert bisect("--step", *words)[0] == 128


def test_the_plan_is_shown_and_nothing_built(bisect, place):
    code, out, _ = bisect(*RANGE, "--plan-only", "--results", place / "none", "--json")
    plan = json.loads(out)
    assert code == 0 and plan["between"] == ["1.1", "1.2", "1.3", "1.4", "1.5"]
    assert (plan["probes"], plan["attempts"], plan["seconds"]) == (5, 2, None)
    assert not (place / "none").exists()
    assert "not known: nothing is stored" in bisect(*RANGE, "--plan-only", "--results", place / "none")[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--good", "planted==1.0"), "between what?"),
        (("--good", "planted==1.0", "--bad", "planted==1.0"), "both ends are called planted 1.0"),
        (("--good", "planted==1.0", "--bad", "alpha==1.0", "--over", "releases"), "one exact version alone"),
        ((*RANGE, "--repeats", "0"), "--repeats 0"),
        ((*RANGE, "--margin", "5"), "a share"),
        ((*RANGE, "--mode", "graph"), "the mode is eager alone"),
        (
            (*RANGE, "--case", "size=3"),
            "no case has --case 'size=3' of planted_work; one is wanted of:\n  size=2",
        ),
        ((*RANGE, "--case", ""), "3 cases have"),
        (("--good", "nothere==1.0", "--bad", "nothere==2.0", "--plan-only"), "between     0 versions"),
    ],
)
def test_bad_usage_names_the_fix(bisect, words, says):
    code, out, err = bisect(*words)
    assert says in out + err and code == (0 if "--plan-only" in words else 2)


PARSES = """
API = "packaging.version.parse"
DEVICES = ("cpu",)
TOLERANCE = 0
VARIES = ()
CASES = [dict(text="1.0-foo")]  # no version: from 22.0 on an exception


def inputs(text, seed=0):
    return dict(text=text)


def prepare(function, inputs):
    return lambda: [float(len(str(function(inputs["text"]))))]


def reference(inputs):
    return {"out": [float(len(inputs["text"]))]}


def cost(text):
    return dict(bytes=0, flops=0, unit="fp32")
"""
DEFINES = """
API = "attrs.define"
DEVICES = ("cpu",)
TOLERANCE = 0
VARIES = ()
CASES = [dict(count=3)]


def inputs(count, seed=0):
    return dict(count=count)


def prepare(function, inputs):
    kind = function(type("Held", (), {"__annotations__": {"number": float}}))
    return lambda: [kind(number=float(each)).number for each in range(inputs["count"])]


def reference(inputs):
    return {"out": [float(each) for each in range(inputs["count"])]}


def cost(count):
    return dict(bytes=0, flops=0, unit="fp32")
"""
REAL = [
    (PARSES, "text=1.0-foo", "packaging==20.9", "packaging==24.0", "crash", "packaging 21.3", "packaging 22.0", {}),
    (DEFINES, "count=3", "attrs==22.1.0", "attrs==20.1.0", "missing", "attrs 21.3.0", "attrs 21.2.0",
     {"21.1.0": "yanked"}),
]  # fmt: skip


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(("text", "case", "good", "bad", "until", "last", "first", "left_out"), REAL)
def test_real_releases_from_the_index(
    tmp_path, monkeypatch, capsys, text, case, good, bad, until, last, first, left_out
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real.py").write_text(text)
    asked = [
        "bisect",
        "--kernel-file",
        "real.py",
        "--case",
        case,
        "--good",
        good,
        "--bad",
        bad,
        "--until",
        until,
    ]
    how = ["--python", sys.executable, "--effort", "quick", "--memory-mb", "700", "--results", "r", "--json"]
    code = cli.main([*asked, *how])
    found = json.loads(capsys.readouterr().out)
    assert code == 1 and found["exact"]
    assert (found["last_good"]["environment"], found["first_bad"]["environment"]) == (last, first)
    assert found["left_out"] == left_out
