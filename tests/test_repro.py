"""A trial as one file: a kernel of the zoo fails there as it did, a clean one does not, and texts stay texts."""

import ast
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench import planning
from workbench.repro import script, symptom, trying
from workbench.results import Outcome, Result, Trial

ROOT = Path(__file__).parents[1]
ZOO = ROOT / "tests" / "kernels"


def written(tmp_path, result, file=None):
    kernel = planning.from_file(file or ZOO / f"{result.trial.kernel}.py", [result.trial.case])
    place = tmp_path / script.file_name(result)
    place.write_text(script.write(result, kernel, "not tried: a test"), encoding="utf-8")
    return place


def run(file, limit_s=60):
    done = subprocess.run([sys.executable, "-I", file], capture_output=True, text=True, timeout=limit_s)
    return done.returncode, done.stdout.strip().splitlines()[-1], done.stderr


def stored(how, outcome, reason, kernel="misbehaving", case=None, **facts):
    trial = Trial(kernel, case or {"how": how, "place": 0}, "eager", "here", "cpu")
    return Result(trial, "a run", Outcome(outcome), reason, **facts)


TRACEBACK = "Traceback (most recent call last):\n  File somewhere\n{}\n"
FAILING = {
    "segfaults": stored("segfaults", "crashed", "segfault_abort", detail="first_call: killed by SIGSEGV"),
    "aborts": stored("aborts", "crashed", "segfault_abort", detail="first_call: killed by SIGABRT"),
    "exits": stored(
        "exits",
        "crashed",
        "exited_early",
        detail="first_call: the process ended with exit code 0 before it was done",
    ),
    "wrong": stored("wrong", "wrong", "wrong_numbers"),
    "nan": stored("nan", "wrong", "wrong_numbers"),
    "raises": stored(
        "raises", "failed", "unknown", stderr=TRACEBACK.format("ValueError: these numbers are of no use")
    ),
    "leaves": stored("leaves", "crashed", "exited_early", stderr=TRACEBACK.format("SystemExit: 0")),
}
WORDS = {
    "segfaults": "reproduced: killed by SIGSEGV", "aborts": "reproduced: killed by SIGABRT",
    "exits": "reproduced: exit code 0", "wrong": "reproduced: wrong: worst row off by",
    "nan": "reproduced: wrong: 1 values are not finite", "raises": "reproduced: ValueError: these numbers",
    "leaves": "reproduced: SystemExit",
}  # fmt: skip


@pytest.mark.parametrize("how", FAILING)
def test_a_failing_kernel_fails_in_its_file(tmp_path, how):
    code, said, _ = run(written(tmp_path, FAILING[how]))
    assert (code, said[: len(WORDS[how])]) == (1, WORDS[how])


def test_a_hang_is_ended_and_said(tmp_path):
    hung = stored("hangs", "hung", "hang_timeout", detail="first_call: not done after 4 s; ended by us")
    assert symptom.of(hung).limit_s == 4 + symptom.MARGIN_S
    file = written(tmp_path, hung)
    file.write_text(file.read_text().replace("LIMIT_S = 14.0", "LIMIT_S = 0.5"))
    assert run(file)[:2] == (1, "reproduced: not done after 0.5 s")


@pytest.mark.parametrize("seen", FAILING)
def test_a_clean_kernel_reproduces_nothing(tmp_path, seen):
    case = {"how": "right", "place": 0}
    clean = replace(FAILING[seen], trial=replace(FAILING[seen].trial, case=case))
    assert run(written(tmp_path, clean))[:2] == (0, "not reproduced")


@pytest.mark.parametrize(
    ("seen", "how"), [("wrong", "raises"), ("raises", "wrong"), ("segfaults", "aborts"), ("exits", "raises")]
)
def test_another_symptom_is_not_this_one(tmp_path, seen, how):
    other = replace(FAILING[seen], trial=FAILING[how].trial)
    code, said, _ = run(written(tmp_path, other))
    assert code == 2 and said.startswith("something else: ")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["all", "all_but_a_row", "nothing", "bad_shape", "other_names"])
def test_what_was_not_written_is_seen_in_torch_tensors(tmp_path, how):
    pytest.importorskip("torch")
    code, said, _ = run(written(tmp_path, stored(how, "wrong", "wrong_numbers", "unwritten", {"how": how})))
    assert code == (how != "all"), said
    assert ("nothing was written" in said) == (how == "nothing")


@pytest.mark.parametrize("outcome", ["not_run", "not_built", "not_exercised", "implausible"])
def test_where_there_is_nothing_to_reproduce_it_says_why(tmp_path, outcome):
    with pytest.raises(ValueError, match="nothing to reproduce: "):
        written(tmp_path, stored("right", outcome, "unknown"))


def test_a_death_is_read_from_the_judge_and_not_from_a_library():
    said = "first_call: RuntimeError: ninja: exit code 1"
    raised = stored(
        "raises", "failed", "unknown", detail=said, stderr=TRACEBACK.format("RuntimeError: ninja")
    )
    assert symptom.of(raised) == symptom.Symptom(("RuntimeError", "ninja"))
    killed = stored(
        "x", "crashed", "illegal_memory_access", detail="replay: killed by SIGABRT: an illegal access"
    )
    assert symptom.of(killed) == symptom.Symptom(("killed by SIGABRT",), ends=True)


def test_an_exception_that_was_not_kept_is_not_guessed(tmp_path):
    with pytest.raises(ValueError, match="does not show what was raised"):
        written(tmp_path, stored("raises", "failed", "unknown", detail="first_call: something"))


HOSTILE = [
    '"""\nimport os; os._exit(66)\n"""',
    "'''\nimport os; os._exit(66)\n",
    "# -*- coding: utf-7 -*-",
    "line\rimport os; os._exit(66)\x0cimport os\x85import os\u2028import os; os._exit(66)",
    "\\\nimport os; os._exit(66)",
    "\ud800\x00\x1b[2J\u202e",
    '# /// script\ndependencies = ["evil"]\n# ///',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_a_text(tmp_path, text):
    evil = dict.fromkeys(["python", "name", text], text)
    known = {
        "environment": {**evil, "packages": {text: text, "x; rm -rf": "1"}, "inherited": {"torch": text}}
    }
    finding = {"findings": [dict.fromkeys(["kind", "kernel", "tensor"], text)]}
    told = stored(
        "wrong", "wrong", text, case={"how": "wrong", "place": 0, "more": text}, detail=text, stage=text,
        marks=[text], kernel_hash=text, provenance=known, forensic={"fault": {"kernel": text}, "sanitizer": finding},
    )  # fmt: skip
    told = replace(told, trial=replace(told.trial, environment=text, gpu=text))
    told = replace(told, stderr=TRACEBACK.format(f"ValueError: {text}"))
    kernel = tmp_path / "misbehaving.py"
    kernel.write_text((ZOO / "misbehaving.py").read_text().replace("(how, place", "(how, place, more=''"))
    file = written(tmp_path, told, kernel)
    tree = ast.parse(file.read_bytes())
    assert [each.value for each in tree.body if isinstance(each, ast.Assign) and "CASE" in ast.unparse(each)]
    lines = file.read_text().splitlines()
    assert lines[0] == script.OPENING and not lines[1]
    assert not any(line.startswith(("# /// ", "import os;")) for line in lines)
    assert not any(name in line for line in lines for name in ("pip install rm", "x; rm"))
    assert run(file)[:2] == (1, "reproduced: wrong: worst row off by 0.185, allowed 1e-06 (out, row 0)")


def test_hostile_words_of_an_exception_are_looked_for_and_not_run(tmp_path):
    error = "ValueError: these numbers\"''' + __import__('os')._exit(66)"
    told = stored("raises", "failed", "unknown", stderr=TRACEBACK.format(error))
    assert run(written(tmp_path, told))[0] == 2


def test_another_kernel_file_than_then_is_said(tmp_path):
    kernel = planning.from_file(ZOO / "misbehaving.py")
    assert "other kernel files" not in script.write(
        replace(FAILING["wrong"], kernel_hash=kernel.hash), kernel, ""
    )
    assert "other kernel files (abc; here" in script.write(
        replace(FAILING["wrong"], kernel_hash="abc"), kernel, ""
    )


def test_a_file_has_no_function_that_nobody_needs(tmp_path):
    tree = ast.parse(written(tmp_path, stored("all", "wrong", "x", "unwritten", {"how": "all"})).read_text())
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name)}
    for function in tree.body:
        assert not isinstance(function, ast.FunctionDef) or function.name in names, function.name


@pytest.mark.parametrize("how", ["segfaults", "right"])
def test_trying_says_what_came_of_it(tmp_path, monkeypatch, how):
    from workbench import environments

    monkeypatch.chdir(tmp_path)
    result = replace(FAILING["segfaults"], trial=FAILING["segfaults"].trial)
    result = replace(result, trial=replace(result.trial, case={"how": how, "place": 0}))
    place = trying.Place(environments.parse("here", sys.executable), limit_s=60)
    tried = trying.attempt(result, written(tmp_path, result).read_text(), "file.py", place)
    assert tried.state == ("reproduced" if how == "segfaults" else "not reproduced")
    assert not list(tmp_path.glob(".environments/.repro-*"))


def test_a_file_that_cannot_start_reproduces_nothing(tmp_path, monkeypatch):
    from workbench import environments

    monkeypatch.chdir(tmp_path)
    place = trying.Place(environments.parse("here", sys.executable), limit_s=60)
    tried = trying.attempt(FAILING["wrong"], "import no_such_module\n", "file.py", place)
    assert tried.state == "not reproduced" and "no_such_module" in tried.text


def test_a_file_that_is_not_done_was_not_tried(tmp_path, monkeypatch):
    from workbench import environments

    monkeypatch.chdir(tmp_path)
    place = trying.Place(environments.parse("here", sys.executable), limit_s=0.5)
    tried = trying.attempt(FAILING["wrong"], "import time; time.sleep(60)\n", "file.py", place)
    assert tried.state == "not tried" and "--limit" in tried.text


def test_a_gpu_of_another_family_is_no_trial():
    result = replace(FAILING["wrong"], trial=replace(FAILING["wrong"].trial, gpu="NVIDIA H200"))
    result = replace(result, provenance={"gpu": {"sm": "9.0"}})
    assert trying.why_not(result, None) == "no GPU of the family SM90 here"
    from workbench.gpus import Gpu

    assert trying.why_not(result, Gpu("NVIDIA B200", "10.0", "", "", 1.0))
    assert not trying.why_not(result, Gpu("NVIDIA H100", "9.0", "", "", 1.0))
    assert "built ahead" in trying.why_not(
        replace(result, marks=["x built ahead: trimmed"]), Gpu("NVIDIA H100", "9.0", "", "", 1.0)
    )


@pytest.mark.slow
def test_the_zoo_from_a_run_to_its_files(tmp_path, zoo):
    hows = ("raises", "segfaults", "wrong", "nan", "zeros", "aborts", "leaves", "exits", "interrupts")
    results = zoo(how=hows)
    for result in (each for each in results if each.attempt):
        code, said, _ = run(written(tmp_path, result))
        assert (code, said.partition(": ")[0]) == (1, "reproduced"), (
            result.trial.case,
            said,
            json.dumps(result.detail),
        )
