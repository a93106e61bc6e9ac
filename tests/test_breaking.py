"""Attacks on the runner, the store and the border: each of these has broken something once, or might."""

import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from workbench import canary, cli, crew, environments, facts, gpus, locks, planning, records, runner, workers
from workbench.matrix import Matrix
from workbench.results import Outcome, Result, Trial
from workbench.store import MOST_PROBLEMS, load, save, save_all
from workbench.strict_json import read_json

ZOO = Path(__file__).parent / "kernels"
HERE = environments.parse("here", sys.executable)
GPU = gpus.Gpu("NVIDIA Stand-In 9000", "9.0", "GPU-" + "7" * 8, "999.1", 80.0)
LIMITS_S = {stage: 1.0 for stage in ("prepare", "first_call", "check", "time")}
RIGHT = (ZOO / "teardown.py").read_text().replace("atexit.register(ctypes.string_at, 0)", "pass")
TRIAL = Trial("matmul", {"tokens": 16}, "eager", "example 1", "cpu")
OK = Result(TRIAL, run="r1", outcome=Outcome.OK, reason="ok", time={"samples_us": [1.0, 2.0, 3.0]})
NASTY = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script>\r../../x \u202e \x9b31m"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return environments.build(HERE, folder=tmp_path_factory.mktemp("environments"))


@pytest.fixture(autouse=True)
def built_once(built, monkeypatch):
    """The interpreter that runs this is looked at once, not twice in each of these tests."""
    build, changed = environments.build, environments.changed
    monkeypatch.setattr(
        environments, "build", lambda each, **how: built if each == HERE else build(each, **how)
    )
    monkeypatch.setattr(environments, "changed", lambda each: "" if each is built else changed(each))


@pytest.fixture
def mine(monkeypatch):
    """Asks for the processes that this test has started and that are still there."""
    mark = secrets.token_hex(8)
    monkeypatch.setenv("BREAKING_MARK", mark)

    def left(wait_s=5.0):
        last = time.monotonic() + wait_s
        while (found := list(marked(mark))) and time.monotonic() < last:
            time.sleep(0.05)
        return found

    return left


def marked(mark):
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("BREAKING_MARK") == mark:
                yield process.cmdline()
        except psutil.Error:
            continue


def kernel_file(folder, text=RIGHT, name="k.py"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def go(file, results, gpu=None, cases=None, **options):
    planned = planning.plan([planning.from_file(file, cases)], [HERE], ["eager"], gpu)
    options = {"limits_s": LIMITS_S, "memory_mb": 700, "effort": "quick", "quiet": True, **options}
    return runner.run(planned, gpu, runner.Options(results=results, **options))


def command(file, results, *more, **how):
    parts = ["run", "--kernel-file", file, "--python", sys.executable, "--results", results]
    parts += ["--effort", "quick", "--memory-mb", "700", "--limit", "first_call=2", *more]
    return subprocess.Popen(
        [sys.executable, *how.pop("flags", ()), "-m", "workbench", *map(str, parts)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
        **how,
    )


def standings(results):
    return {trial.label: str(standing.outcome) for trial, standing in load(results).trials().items()}


# The border

ENDS = {
    "closes_channel": "failed", "tells_of_the_future": "failed", "tells_no_end": "failed",
    "tells_wrong_kinds": "failed", "tells_much": "failed", "tells_stages": "hung", "bombs": "crashed", "stops": "hung",
    "kills_guard": "failed", "no_stack": "failed", "unprintable": "failed", "nameless": "failed",
    "ignores": "hung", "terminal": "failed",
}  # fmt: skip


@pytest.mark.slow
def test_what_attacks_us_has_its_row_and_its_neighbour_does_not_suffer(tmp_path, mine, monkeypatch):
    monkeypatch.setattr(workers, "BEGIN_S", 1.0)
    cases = planning.from_file(ZOO / "hostile.py").cases
    slow = [case for case in cases if case["how"] == "bombs"]  # hundreds of processes take their time
    go(ZOO / "hostile.py", tmp_path / "r", cases=[case for case in cases if case not in slow])
    go(ZOO / "hostile.py", tmp_path / "r", cases=slow, limits_s={})
    results = load(tmp_path / "r")
    assert not results.problems
    got = {(trial.case["how"], trial.case["place"]): str(s.outcome) for trial, s in results.trials().items()}
    hows = [how for how, place in got if place == 0]
    assert {how: got[how, 0] for how in hows} == {how: ENDS.get(how, "ok") for how in hows}
    assert {got[how, 1] for how in hows} == {"ok"}
    assert not mine()


@pytest.mark.parametrize(
    "bad",
    [
        b"[]",
        b'{"n": 1}',
        b'{"n": 1, "at": "inf"}',
        b'{"n": 1, "at": NaN}',
        b'{"n": 1, "at": 1, "n": 1}',
        b'{"n": 1, "at": 1, "check": "right"}',
        b'{"n": 1, "at": 1, "check": {"untouched": null}}',
        b'{"n": 1, "at": 1, "check": {"error": 1e999}}',
        b'{"n": 1, "at": 1, "time": {"samples_us": [-1]}}',
        b'{"n": 1, "at": 1, "time": {"samples_us": ["fast"]}}',
        b'{"n": 1, "at": 1, "time": {"median_us": true}}',
        b'{"n": 1, "at": 1, "prebuilt": [{}]}',
        b'{"n": 1, "at": 1, "exception": {"type": 5}}',
        b'{"n": 1, "at": 1, "check": {"error": ' + b"9" * 400 + b"}}",
        b'{"n": 1, "at": 1, "found": ' + b"[" * 100_000,
        b"\xff",
    ],
)
def test_facts_that_cannot_be_relied_on_are_refused(bad):
    with pytest.raises(ValueError):
        facts.read(bad)


def test_an_older_text_that_was_compiled_is_not_run(tmp_path):
    file = kernel_file(tmp_path)
    go(file, tmp_path / "first")
    kept = file.stat()
    wrong = RIGHT.replace(
        'return {"out": [inputs["number"] ** 0.5]}', 'return {"out": [inputs["number"] ** 2.0]}'
    )
    wrong = wrong[: len(RIGHT)].ljust(len(RIGHT))
    file.write_text(wrong)
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert file.stat().st_size == kept.st_size
    go(file, tmp_path / "second")
    assert set(standings(tmp_path / "second").values()) == {"wrong"}


# What a user hands in

BROKEN = {
    "import os; os._exit(0)": "ends the process",
    "import ctypes; ctypes.string_at(0)": "ends the process",
    "import sys; sys.exit(0)": "ends the process",
    "import time; time.sleep(60)": "hangs",
    "raise RuntimeError('\x1b[2J')": "RuntimeError",
    "CASES = [dict(n=n) for n in range(1_000_000)]": "more than",
    "import itertools; CASES = (dict(n=n) for n in itertools.count())": "more than",
    "CASES = [dict(n=float('nan'))]": "JSON",
    "CASES = [dict(n=object())]": "JSON",
    "CASES = [5]": "list of objects",
    "CASES = 5": "JSON",
    "CASES = [dict(n='x' * 20_000)]": "longer",
    "CASES = [dict(n=10**400)]": "digits",
    "API = None": "API",
    "DEVICES = None": "DEVICES",
    "SMS = ()": "SMS",
    "SMS = 90": "SMS",
    "SMS = ('90',)": "SMS",
    "SMS = (9.0,)": "SMS",
    "TOLERANCE = 'little'": "TOLERANCE",
    "def cost(n): raise KeyError(n)": "KeyError",
    "def cost(n): return None": "not bytes and flops",
    "def cost(n): return dict(bytes='many')": "not bytes and flops",
    "def cost(n): return dict(bytes=float('nan'))": "not bytes and flops",
    "def cost(n): return dict(bytes=-1, flops=10**400)": "not bytes and flops",
    "import os\ndef cost(n): os._exit(0)": "ends the process",
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "says"), BROKEN.items())
def test_a_kernel_file_that_breaks_the_contract_is_refused_before_anything_runs(
    tmp_path, text, says, monkeypatch
):
    monkeypatch.setattr(planning, "READ_LIMIT_S", 2 if says == "hangs" else 30)
    with pytest.raises(ValueError, match=says):
        planning.from_file(kernel_file(tmp_path, RIGHT + "\n" + text))


def test_a_cost_that_fails_later_ends_nothing(tmp_path):
    cost = "def cost(n):\n    ASKED.append(n)\n    return dict(bytes=0) if len(ASKED) < 2 else 1 / 0"
    text = f"{RIGHT}\nASKED = []\n{cost}"
    go(kernel_file(tmp_path, text), tmp_path / "r")
    assert standings(tmp_path / "r") == {"n=4": "ok"}


def test_paths_with_spaces_dots_and_other_letters(tmp_path, capsys):
    folder = tmp_path / "mäß 測試 'x' %s"
    file = kernel_file(folder, name="my kernel.v2 é.py")
    (folder / "fälle.json").write_text('[{"n": 9}]')
    arguments = ["run", "--kernel-file", file, "--python", sys.executable, "--results", folder / "r s"]
    arguments += ["--cases", folder / "fälle.json", "--effort", "quick", "--json"]
    assert cli.main([str(each) for each in arguments]) == 0, capsys.readouterr()
    assert standings(folder / "r s") == {"n=9": "ok"}


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '[{"n": 1, "n": 2}]', '\ufeff[{"n": 1}]', "\udcff", "[1e999]"]
)
def test_cases_that_are_no_plain_json_are_bad_usage(tmp_path, text):
    (tmp_path / "c.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match="JSON"):
        planning.read_cases(tmp_path / "c.json")


@pytest.mark.parametrize("limit", ["time=nan", "time=-1", "time=inf", "time=0", "x=1", "time"])
def test_a_limit_that_limits_nothing_is_bad_usage(tmp_path, limit, capsys):
    file = kernel_file(tmp_path)
    arguments = [
        "run",
        "--kernel-file",
        str(file),
        "--python",
        sys.executable,
        "--results",
        str(tmp_path / "r"),
    ]
    assert cli.main([*arguments, "--limit", limit]) == 2
    assert "STAGE=SECONDS" in capsys.readouterr().err


# The store

FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from workbench.cli import main
sys.exit(main())
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_in_the_middle_stops_the_run_and_loses_nothing(tmp_path, mine):
    file, results = (
        kernel_file(tmp_path, RIGHT.replace("dict(n=4)", "*[dict(n=n) for n in range(9)]")),
        tmp_path / "r",
    )
    arguments = [
        "run",
        "--kernel-file",
        file,
        "--python",
        sys.executable,
        "--results",
        results,
        "--effort",
        "quick",
    ]
    full = subprocess.run(
        [sys.executable, "-c", FULL, "16000", *map(str, arguments)], capture_output=True, text=True
    )
    assert full.returncode == 2, full.stderr
    assert "Traceback" not in full.stderr
    assert str(results) in full.stderr
    assert "make room and run the same command again" in full.stderr
    before = load(results)
    assert not before.problems
    done = [result for result in before if result.attempt]
    assert len(standings(results)) == 9
    assert 0 < len(done) < 9
    assert go(file, results).skipped == len(done)
    assert set(standings(results).values()) == {"ok"}
    assert not mine()


@pytest.mark.slow
def test_a_failed_write_does_not_cut_off_what_another_run_has_written(tmp_path):
    """Its size before the write is no longer its size when the write fails, unless the others are kept out."""
    file, saved = tmp_path / "a.jsonl", 0
    script = "import sys; from tests.test_breaking import fails; fails(sys.argv[1])"
    failing = subprocess.Popen([sys.executable, "-c", script, file], cwd=Path(__file__).parents[1])
    while failing.poll() is None:
        saved += 1
        save(replace(OK, attempt=saved), file)
    assert failing.returncode == 0
    results = load(tmp_path)
    assert (len(results), results.problems) == (saved, ())


def fails(file):
    """Writes half of what it should, 20 times."""
    write = os.write

    def half(handle, data):
        if len(data) > 20:
            time.sleep(0.001)
            return write(handle, data[:20])
        raise OSError(28, "No space left on device")

    os.write = half
    for _ in range(20):
        try:
            save_all([OK], Path(file))
        except OSError:
            continue
    os.write = write


def test_a_worker_that_somebody_ends_before_its_first_trial_is_no_failure_of_it(tmp_path, monkeypatch, mine):
    started = []

    def start(*how):
        started.append(workers.Worker(*how))
        if len(started) == 1:
            started[0].guard.kill()
        return started[-1]

    monkeypatch.setattr(crew, "Worker", start)
    go(kernel_file(tmp_path), tmp_path / "r")
    assert (len(started), standings(tmp_path / "r")) == (2, {"n=4": "ok"})
    assert not mine()


@pytest.mark.parametrize(
    "end", ["os.kill(os.getppid(), 9)", "os.kill(os.getpid(), 15)", "os.kill(os.getpid(), 1)"]
)
@pytest.mark.parametrize("times", [1, 2])
def test_who_is_ended_from_outside_in_the_middle_of_a_trial_gets_another_process_once(
    tmp_path, mine, end, times
):
    made = tmp_path / "made"
    attack = f"""    import os, pathlib, time
    made = pathlib.Path({str(made)!r})
    made.write_text(made.read_text() + "x" if made.exists() else "x")
    if len(made.read_text()) <= {times}:
        {end}
        time.sleep(20)
"""
    go(
        kernel_file(tmp_path, RIGHT.replace("    import atexit\n", f"{attack}    import atexit\n")),
        tmp_path / "r",
    )
    as_it_says = "failed" if "ppid" in end else "not_run"
    assert (standings(tmp_path / "r"), made.read_text()) == (
        {"n=4": "ok" if times == 1 else as_it_says},
        "xx",
    )
    assert not mine()


@pytest.mark.slow
def test_two_runs_into_one_folder_lose_nothing(tmp_path, mine):
    file = kernel_file(tmp_path, RIGHT.replace("dict(n=4)", "*[dict(n=n) for n in range(12)]"))
    both = [command(file, tmp_path / "r") for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0], both[0].stderr.read()
    for process in both:
        process.communicate()
    results = load(tmp_path / "r")
    assert not results.problems
    assert set(standings(tmp_path / "r").values()) == {"ok"}
    assert len(standings(tmp_path / "r")) == 12
    assert not mine()


def test_a_file_where_the_folder_should_be_is_said_before_anything_is_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(environments, "build", lambda *_, **__: pytest.fail("it was built"))
    (tmp_path / "r").write_text("")
    arguments = ["run", "--kernel-file", str(kernel_file(tmp_path)), "--python", sys.executable, "--results"]
    for place in (tmp_path / "r", tmp_path / "r" / "below"):
        assert cli.main([*arguments, str(place)]) == 2
        assert str(tmp_path / "r") in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(environments, "build", lambda *_, **__: pytest.fail("it was built"))
    monkeypatch.setattr(os, "access", lambda place, how: place != tmp_path / "r")  # root may write anywhere
    arguments = ["run", "--kernel-file", str(kernel_file(tmp_path)), "--python", sys.executable, "--results"]
    assert cli.main([*arguments, str(tmp_path / "r")]) == 2
    assert "nothing can be written here" in capsys.readouterr().err


def test_a_plan_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(runner, "save_all", lambda results, file: written.append(len(results)))
    monkeypatch.setattr(runner.Run, "_run_all", lambda self, todo: None)
    go(ZOO / "misbehaving.py", tmp_path / "r")
    assert written == [20]


def hostile_lines():
    deep = "x"
    for _ in range(200):
        deep = [deep]
    base = asdict(OK)
    names = ("kernel", "mode", "environment", "gpu")
    trials = [{**base["trial"], **dict.fromkeys(names, NASTY)}]
    cases = ({NASTY: NASTY}, {"n": deep}, {"n": "\ud800"}, {"n": 1e308})
    trials += [{**base["trial"], "case": case} for case in cases]
    for trial in trials:
        yield json.dumps({**base, "trial": trial})
    for name, kind in {
        "time": [],
        "found": 5,
        "provenance": "x",
        "stages": [1],
        "marks": [5],
        "trial": "x",
    }.items():
        yield json.dumps({**base, name: kind})
    for text in (NASTY, "x" * 10_000_000, "\x00" * 100, "\udcff"):
        said = dict.fromkeys(("detail", "reason", "stage"), text)
        yield json.dumps({**base, "outcome": "failed", "time": {}, **said})
        yield json.dumps({**base, "outcome": "crashed", "time": {}, "stderr": text, "stdout": text})
    for number in ("9" * 400, "9" * 5000, "1e999", "-1", "NaN", "Infinity", "1e300", "null", '"1"', "true"):
        yield json.dumps(base).replace("[1.0, 2.0, 3.0]", f"[{number}, {number}]")
        yield json.dumps(base).replace('"attempt": 1', f'"attempt": {number}')
        yield json.dumps(base).replace('"tokens": 16', f'"tokens": {number}')
        yield json.dumps(base).replace(
            '"time": {', f'"time": {{"median_us": {number}, "floor_us": {number}, '
        )
        yield json.dumps({**base, "stages": {"time": "N"}}).replace('"N"', number)
    yield json.dumps(base)[:-1] + ', "run": "twice"}'
    yield '{"a":' * 5000 + "1" + "}" * 5000


def test_lines_of_a_hostile_machine_are_inert_wherever_they_are_shown(tmp_path, capsys):
    lines = [line.encode("utf-8", "surrogatepass") for line in hostile_lines()]
    plain = json.dumps(asdict(OK))
    lines += ["\ufeff" + plain, plain + "\r", "\x00", ""]
    lines = [line if isinstance(line, bytes) else line.encode() for line in lines]
    lines += [plain.encode("utf-16"), b"\xff\xfe", plain.replace("matmul", "é").encode("latin-1")]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    results = load(tmp_path)
    assert len(results) > 20
    assert 0 < len(results.problems) <= MOST_PROBLEMS + 1
    assert all(len(problem) < 400 for problem in results.problems)
    for arguments in (["--json"], []):
        assert cli.main(["show", str(tmp_path), *arguments]) == 1
        shown = "".join(capsys.readouterr())
        assert not [mark for mark in ("\x1b", "\x07", "\r", "\x00", "\u202e", "\x9b") if mark in shown]
        shown.encode("utf-8")
        if arguments:
            read_json(shown[: shown.rindex("\n]") + 2])
    page = Matrix(results)._repr_html_()
    page.encode("utf-8")
    assert not [mark for mark in ("<script>alert", "\x1b", "\x07", "\x00") if mark in page]


def test_random_damage_to_a_line_is_a_problem_and_no_crash(tmp_path):
    random_ = random.Random(11)
    line = json.dumps(
        asdict(replace(OK, provenance={"environment": {"hash": "0"}}, stages={"time": 1.0}))
    ).encode()
    pieces = [
        b"[]",
        b"{}",
        b"null",
        b'"x"',
        b"1e400",
        b"9" * 50,
        b"-",
        b"\x00",
        b"\xed\xa0\x80",
        b"true",
        b",",
        b"}",
    ]
    damaged = []
    for _ in range(1500):
        at, cut = random_.randrange(len(line)), random_.choice([0, 0, 1, 5, 40])
        damaged.append(line[:at] + random_.choice(pieces) + line[at + cut :])
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(damaged))
    results = load(tmp_path)
    results.trials()
    Matrix(results).text().encode("utf-8")
    assert len(results.problems) == MOST_PROBLEMS + 1


def test_what_has_no_end_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    save(OK, tmp_path / "a.jsonl")
    results = load(tmp_path)
    assert len(results) == 1
    assert len(results.problems) == 4


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    with pytest.raises(ValueError):
        save(replace(OK, stages={"time": -1.0}), tmp_path / "a.jsonl")
    with pytest.raises(ValueError):
        save(replace(OK, found={"n": 10**400}), tmp_path / "a.jsonl")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/passwd", "..", ".", "", "\x00", "a/b\\c", "é", "x" * 1000, NASTY]
)
def test_no_name_leads_out_of_the_results(name, tmp_path):
    environment = replace(HERE, name=name) if hasattr(HERE, "name") else HERE
    kernel = planning.from_file(ZOO / "absent.py")
    planned = planning.Planned(replace(TRIAL, gpu=name), kernel, environment, "cpu")
    problem = environments.BuildError("x")
    for gpu in (None, replace(GPU, name=name)):
        place = records.place(planned, problem, gpu)
        assert len(place.parts) == 2
        assert not place.is_absolute()
        assert not set(place.parts) & {"..", "."}
        assert (tmp_path / place).resolve().is_relative_to(tmp_path.resolve())


def test_a_terminal_that_knows_fewer_letters(tmp_path):
    save(
        replace(OK, trial=replace(TRIAL, kernel="mäß測"), outcome=Outcome.FAILED, time={}),
        tmp_path / "a.jsonl",
    )
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "show", tmp_path],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 1, done.stderr
    assert b"m\\xe4" in done.stdout


def test_a_mistake_of_ours_does_not_look_like_something_found(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("workbench.commands.show.load_results", lambda folders: 1 / 0)
    assert cli.main(["show", str(tmp_path)]) == 2
    assert "ZeroDivisionError" in capsys.readouterr().err


# The machine

ON_GPU = RIGHT.replace('("cpu",)', '("cuda",)').replace("dict(n=4)", "*[dict(n=n) for n in range(4, 7)]")
ON_GPU = ON_GPU.replace("** 0.5", "** 2.0")  # wrong, and so never timed: there is no GPU
CRASHES = ON_GPU.replace("    import ctypes\n", "    import ctypes\n    ctypes.string_at(0)\n")


def test_a_gpu_that_fails_its_canary_is_left_alone_until_the_next_run(tmp_path, monkeypatch):
    file, sung = kernel_file(tmp_path, CRASHES), []
    monkeypatch.setattr(canary, "sing", lambda *_: sung.append(1) or "\x1b[2Jthe GPU has fallen off the bus")
    summary = go(file, tmp_path / "r", GPU)
    assert summary.outcomes == {"crashed": 1, "not_run": 2}
    assert len(sung) == 1
    (_, second, third) = load(tmp_path / "r").trials().values()
    assert "off the bus" in second.result.detail
    assert third.outcome == Outcome.NOT_RUN
    monkeypatch.setattr(canary, "sing", lambda *_: "")
    assert go(file, tmp_path / "r", GPU).outcomes == {"crashed": 2}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import sys; sys.exit('no CUDA-capable device')", "no CUDA-capable device"),
        ("import os; os.write(2, b'\\xff\\xfe'); os.abort()", "\ufffd"),
        ("import os; os._exit(9)", "exit code 9"),
        ("import time; time.sleep(60)", "hung"),
    ],
)
def test_a_canary_that_cannot_sing_is_heard(tmp_path, monkeypatch, text, says):
    (tmp_path / "canary.py").write_text(text)
    monkeypatch.setattr(canary, "FILE", tmp_path / "canary.py")
    monkeypatch.setattr(canary, "LIMIT_S", 1)
    assert says in canary.sing(Path(sys.executable), os.environ)
    assert "cannot be started" in canary.sing(tmp_path / "no-python", os.environ)


def test_two_runs_on_one_gpu_go_one_after_the_other_and_do_nothing_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    monkeypatch.setattr(canary, "sing", lambda *_: "")
    file, summaries, at_work = kernel_file(tmp_path, ON_GPU), [], []
    worked = runner.Run._run_all

    def alone(self, todo):
        assert not at_work
        at_work.append(1)
        time.sleep(0.3)  # the other one has made its plan meanwhile
        worked(self, todo)
        at_work.pop()

    monkeypatch.setattr(runner.Run, "_run_all", alone)
    both = [
        threading.Thread(target=lambda: summaries.append(go(file, tmp_path / "r", GPU))) for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(summary.skipped for summary in summaries) == [0, 3]


def test_a_gpu_that_is_held_is_said_with_exit_code_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    monkeypatch.setattr(gpus, "here", lambda index: GPU)
    file = kernel_file(tmp_path, ON_GPU)
    arguments = [
        "run",
        "--kernel-file",
        str(file),
        "--python",
        sys.executable,
        "--mode",
        "eager",
        "--no-wait",
    ]
    with locks.hold(f"gpu-{GPU.uuid_hash}"):
        assert cli.main([*arguments, "--results", str(tmp_path / "r")]) == 2
    assert f"process {os.getpid()}" in capsys.readouterr().err


def test_nobody_leads_the_lock_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir(mode=0o700)
    (tmp_path / "locks").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    with pytest.raises(OSError), locks.hold("gpu-1"):
        pass
    assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o700
    assert not list((tmp_path / "theirs").iterdir())


def test_what_stands_in_a_lock_does_not_reach_the_terminal(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    with locks.hold("gpu-1"):
        (tmp_path / "locks" / "gpu-1.lock").write_bytes(b"\x1b[2J")
        with pytest.raises(locks.Busy, match="unknown"), locks.hold("gpu-1", wait=False):
            pass


def test_without_a_gpu_no_lock_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "FOLDER", tmp_path / "locks")
    go(kernel_file(tmp_path), tmp_path / "r")
    assert not (tmp_path / "locks").exists()


@pytest.mark.parametrize("beyond", [dict(tokens=10**14), dict(experts=2)])  # no end; 4 of 2 experts
def test_a_case_whose_costs_have_no_end_is_refused(monkeypatch, beyond):
    monkeypatch.setattr(planning, "READ_LIMIT_S", 2)
    case = {**planning.built_in("mxfp4_swiglu").cases[0], **beyond}
    with pytest.raises(ValueError, match="hangs who reads it or asks for the costs of its cases: 2 s"):
        planning.built_in("mxfp4_swiglu", [case])


def test_whoever_is_stopped_while_commands_are_imported_shows_no_traceback(monkeypatch):
    def stopped():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_parser", stopped)
    assert cli.main(["run"]) == 3


def changing(monkeypatch, act, after=1):
    """`act` is done after so many trials were saved."""
    finish, done = runner.Run._finish, []

    def then(self, *arguments):
        finish(self, *arguments)
        done.append(1)
        if len(done) == after:
            act()

    monkeypatch.setattr(runner.Run, "_finish", then)


@pytest.mark.parametrize("ends", ["", "import os; os._exit(1)"])
def test_an_environment_deleted_under_a_run_is_not_held_against_it(tmp_path, monkeypatch, ends):
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    text = RIGHT.replace("dict(n=4)", "*[dict(n=n) for n in range(3)]")
    late = f"    if inputs['number'] > 0:\n        {ends or 'raise ImportError'}\n"
    file = kernel_file(tmp_path, text.replace("    import atexit\n", late + "    import atexit\n"))
    changing(monkeypatch, lambda: shutil.rmtree(tmp_path / "env"))
    planned = planning.plan(
        [planning.from_file(file)], [environments.parse("here", str(python))], ["eager"], None
    )
    options = runner.Options(
        results=tmp_path / "r", quiet=True, memory_mb=700, effort="quick", limits_s=LIMITS_S
    )
    summary = runner.run(planned, None, options)
    assert summary.outcomes == {"ok": 1, "not_run": 2}
    assert all("gone" in result.detail for result in load(tmp_path / "r") if result.detail.startswith("here"))


def test_a_kernel_file_changed_under_a_run_is_not_run_under_its_old_name(tmp_path, monkeypatch):
    text = RIGHT.replace("dict(n=4)", "*[dict(n=n) for n in range(3)]")
    file = kernel_file(tmp_path, text)
    changing(monkeypatch, lambda: file.write_text(text + "\n# changed\n"))
    assert go(file, tmp_path / "r").outcomes == {"ok": 1, "not_run": 2}
    assert go(file, tmp_path / "r").outcomes == {"ok": 3}


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_results_that_go_away_under_a_run_are_stored_again(tmp_path, monkeypatch, how, capsys):
    file = kernel_file(tmp_path, RIGHT.replace("dict(n=4)", "*[dict(n=n) for n in range(4)]"))
    act = shutil.rmtree if how == "deleted" else lambda folder: folder.rename(tmp_path / "elsewhere")
    changing(monkeypatch, lambda: act(tmp_path / "r"), after=2)
    go(file, tmp_path / "r", quiet=False)
    assert standings(tmp_path / "r") == {f"n={n}": "ok" for n in range(4)}
    assert "is gone; what this run has measured is stored there again" in capsys.readouterr().err
    both = [each for each in load(tmp_path) if each.attempt]
    assert len(both) == len(load(tmp_path / "r")) == 4  # what is there in both places is one attempt


@pytest.mark.slow
def test_a_clock_that_jumps_changes_no_time(tmp_path, monkeypatch):
    jumps = iter(range(10**9, 0, -(10**6)))
    monkeypatch.setattr(time, "time", lambda: float(next(jumps)))
    cases = [{"how": "hangs", "place": 0}, {"how": "right", "place": 1}]
    summary = go(ZOO / "misbehaving.py", tmp_path / "r", cases=cases)
    assert summary.outcomes == {"hung": 1, "ok": 1}
    assert summary.wall_s < 20
    assert all(0 <= seconds < 20 for seconds in summary.seconds.values())


def test_a_clock_that_was_set_back_does_not_make_an_older_kernel_the_newer_one(tmp_path, monkeypatch, capsys):
    texts = {"wrong": RIGHT.replace('inputs["number"] ** 0.5', 'inputs["number"] ** 2.0'), "ok": RIGHT}
    runs = []
    for year, (outcome, text) in zip((2031, 2020, 2010), [*texts.items(), *texts.items()], strict=False):
        clock = SimpleNamespace(now=lambda zone, year=year: datetime(year, 1, 1, tzinfo=zone))
        monkeypatch.setattr(records, "datetime", clock)
        monkeypatch.setattr(runner, "datetime", clock)
        summary = go(kernel_file(tmp_path, text), tmp_path / "r", again=True, quiet=False)
        runs.append(summary.run)
        assert standings(tmp_path / "r") == {"n=4": outcome}
        assert ("clock is behind" in capsys.readouterr().err) == (year != 2031)
    assert runs == sorted(runs)
    days = [each.provenance["started"][:4] for each in load(tmp_path / "r") if each.attempt]
    assert days == ["2031", "2020", "2010"]  # what the clock said is stored as it was


@pytest.mark.parametrize("home", [None, "", "/", "/nowhere"])
def test_a_user_without_a_home(home, monkeypatch):
    records._private.cache_clear()
    monkeypatch.setattr(records, "_user", lambda: "")
    if home is None:
        monkeypatch.delenv("HOME")
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # no entry in the list of users either
    else:
        monkeypatch.setenv("HOME", home)
    assert records.scrub("/usr/lib/x.py and /nowhere/y") == (
        "/usr/lib/x.py and ~/y" if home == "/nowhere" else "/usr/lib/x.py and /nowhere/y"
    )
    records._private.cache_clear()


def test_a_traceback_does_not_tell_where_the_checkout_lies():
    records._private.cache_clear()
    ours = Path(records.__file__).parents[1]
    assert records.scrub(f'File "{ours}/workbench/worker/trial.py"') == 'File "workbench/worker/trial.py"'
    assert records.scrub("/usr/lib/workbench/x.py") == "/usr/lib/workbench/x.py"
    records._private.cache_clear()


def test_a_signature_does_not_tell_who_the_user_is(monkeypatch):
    records._private.cache_clear()
    monkeypatch.setenv("HOME", "/home/some-body")
    found = records._scrubbed({"signature": "(cache='/home/some-body/.cache', x=\"é\")"})
    assert found == {"signature": "(cache='~/.cache', x=\"é\")"}
    records._private.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (("-O",), {}),
        ((), {"LC_ALL": "C", "LANG": "C"}),
        ((), {"HOME": "/proc/nowhere", "TMPDIR": "/nowhere"}),
    ],
)
def test_it_runs_as_it_always_does(tmp_path, mine, flags, variables):
    file = kernel_file(tmp_path / "mäß")
    process = command(file, tmp_path / "mäß" / "r", flags=flags, env={**os.environ, **variables})
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert standings(tmp_path / "mäß" / "r") == {"n=4": "ok"}
    assert not mine()


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_crash_of_a_kernel(tmp_path, closed):
    arguments = [
        "--kernel-file",
        kernel_file(tmp_path),
        "--python",
        sys.executable,
        "--results",
        tmp_path / "r",
    ]
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "workbench", "run", *arguments]
    done = subprocess.run([*shell, "--effort", "quick"], cwd=Path(__file__).parents[1], capture_output=True)
    assert done.returncode == 0
    assert standings(tmp_path / "r") == {"n=4": "ok"}


@pytest.mark.slow
def test_what_called_code_says_does_not_steer_the_terminal(tmp_path):
    cases = tmp_path / "c.json"
    cases.write_text('[{"how": "terminal", "place": 0}]')
    process = command(ZOO / "hostile.py", tmp_path / "r", "--cases", cases)
    out, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"ValueError" in said
    assert not [
        mark for mark in (b"\x1b", b"\x07", b"\r", b"\xc2\x9b", b"\xe2\x80\xae") if mark in out + said
    ]


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whatever_ends_the_runner_ends_its_workers(tmp_path, mine, ending):
    cases = tmp_path / "c.json"
    cases.write_text('[{"how": "right", "place": 0}, {"how": "hangs", "place": 1}]')
    process = command(ZOO / "misbehaving.py", tmp_path / "r", "--cases", cases, "--limit", "first_call=60")
    last = time.monotonic() + 20
    while "how=right, place=0" not in [
        label for label, end in standings(tmp_path / "r").items() if end == "ok"
    ]:
        assert time.monotonic() < last
        time.sleep(0.1)
    for _ in range(3):  # somebody is impatient
        process.send_signal(ending)
        time.sleep(0.1)
    _, said = process.communicate(timeout=40)
    assert b"Traceback" not in said
    assert process.returncode in ((3, -signal.SIGINT) if ending == signal.SIGINT else (-ending,))
    assert standings(tmp_path / "r")["how=right, place=0"] == "ok"
    assert not load(tmp_path / "r").problems
    assert not mine()
