"""`workbench repro`: which trial is meant, what is written, what is said of it, and what it will not do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.repro import choosing, recipe, vouched
from workbench.results import Outcome, Result, Results, Trial
from workbench.store import save_all

ZOO = Path(__file__).parent / "kernels"
STORED = {"requirements": [], "packages": {}, "inherited": {}, "python": "3.12.3"}


def failed(how="segfaults", **facts):
    trial = Trial("misbehaving", {"how": how, "place": 0}, "eager", "here", "cpu")
    known = {"detail": "first_call: killed by SIGSEGV", "provenance": {"environment": STORED}} | facts
    return Result(trial, "a run", Outcome.CRASHED, "segfault_abort", **known)


@pytest.fixture
def repro(tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    clean = replace(failed("right"), outcome=Outcome.OK, reason="ok")
    save_all([failed(), failed("aborts"), clean], tmp_path / "r" / "a.jsonl")

    return lambda *words: typed("repro", "--results", "r", *words)


def test_the_list_names_what_speaks_against_its_environment(repro):
    code, out, _ = repro("--list")
    assert code == 1 and out.count("\n") == 3 and failed().trial.id in out and "right" not in out
    assert repro()[:2] == (code, out)
    assert [each["trial"] for each in json.loads(repro("--list", "--json")[1])] == [
        failed().trial.id, failed("aborts").trial.id,
    ]  # fmt: skip


def test_an_unknown_trial_gets_the_list(repro):
    code, out, err = repro("ffffffffff0")
    assert code == 2 and failed().trial.id in out and "no trial's id begins with" in err


def test_a_file_that_was_not_tried_says_so(repro, tmp_path):
    code, out, _ = repro(failed().trial.id, "--kernel-file", ZOO / "misbehaving.py", "--no-run")
    assert code == 3 and "not tried: --no-run" in out
    assert "# tried     not tried: --no-run" in (tmp_path / f"repro_{failed().trial.id}.py").read_text()


def test_a_file_that_was_tried_says_what_came_of_it(repro, tmp_path):
    code, out, _ = repro(
        failed().trial.id[:9], "--kernel-file", ZOO / "misbehaving.py", "--output", "x.py", "--json"
    )
    assert code == 1 and json.loads(out)["state"] == "reproduced"
    assert "# tried     reproduced: " in (tmp_path / "x.py").read_text()


def test_a_kernel_comes_from_this_machine_alone(repro, tmp_path):
    assert "--kernel-file" in repro(failed().trial.id)[2]
    (tmp_path / "other.py").write_text((ZOO / "misbehaving.py").read_text())
    assert "another name" in repro(failed().trial.id, "--kernel-file", "other.py", "--no-run")[2]


@pytest.mark.parametrize(
    "word",
    ["evil==1.0", "flashinfer-python @ https://x/y.whl", "/tmp/x.whl", "-r x", "flashinfer-python>=0.1",
     "flashinfer-python==1;rm", "sglang @ https://x/y", "--index-url=x"],
)  # fmt: skip
def test_a_result_line_does_not_say_what_is_installed(word):
    stored = {"environment": {**STORED, "requirements": ["flashinfer-python==0.6.8.post1", word]}}
    with pytest.raises(ValueError, match="name the environment with --environment"):
        vouched.environment(failed(provenance=stored))


def test_known_pins_and_stacks_are_built_again():
    words = ["flashinfer-python==0.6.8.post1", "triton_kernels@sglang-kernel==0.4.2.post1"]
    stored = {"environment": {**STORED, "requirements": words}}
    assert list(vouched.environment(failed(provenance=stored)).requirements) == words
    stored = {"environment": {**STORED, "requirements": ["sglang==0.5.11"]}}
    assert vouched.environment(failed(provenance=stored)).name == "sglang 0.5.11"
    elsewhere = replace(failed(), trial=replace(failed().trial, environment="python of somewhere"))
    with pytest.raises(ValueError, match="another place"):
        vouched.environment(elsewhere)


def test_commands_have_only_names_and_versions():
    packages = {
        "flashinfer-python": "0.6.8.post1",
        "x;y": "1",
        "a": "$(b)",
        "triton-kernels-of-sglang-kernel": "0.4.2",
    }
    stored = {**STORED, "packages": packages, "inherited": {"torch": "2.11.0+cu130", "other": "1"}}
    told = failed(provenance={"environment": stored})
    assert recipe.environment(told) == [
        "python3.12 -m venv env",
        ". env/bin/activate",
        "pip install flashinfer-python==0.6.8.post1 torch==2.11.0",
        "pip download --no-deps --dest wheels sglang-kernel==0.4.2",
        "python -m zipfile -e wheels/sglang_kernel-0.4.2-*.whl unpacked",
        "cp -r unpacked/triton_kernels env/lib/python3.12*/site-packages/",
    ]
    assert (
        recipe.environment(failed(provenance={"environment": {"python": "3;rm"}}))[0] == "python3 -m venv env"
    )


def test_a_sanitized_trial_is_run_under_its_tool():
    sanitized = replace(failed(), trial=replace(failed().trial, mode="sanitized"))
    assert recipe.running(sanitized, "x.py").startswith("PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer ")
    assert "--tool memcheck --error-exitcode 1 --report-api-errors no --padding " in recipe.running(
        sanitized, "x.py"
    )
    other = replace(sanitized, trial=replace(sanitized.trial, mode="sanitized+initcheck"))
    assert "--tool initcheck --error-exitcode 1 python x.py" in recipe.running(other, "x.py")


def test_the_attempt_with_the_fewest_tensors_fenced_is_shown_with_the_kernel_that_another_named():
    fence = {"fence": {"edge": "end", "only": ["asked.w.storage.data"]}}
    located = replace(failed(), rerun="located", forensic={"fault": {"kernel": "_matmul", "by": "core dump"}})
    narrowed = replace(failed(), rerun="narrowed", forensic=fence)
    clean = replace(narrowed, outcome=Outcome.OK, reason="ok", forensic={"fence": {"only": ["another"]}})
    shown = choosing.chosen(Results((failed(), located, narrowed, clean)), failed().trial)
    assert shown.rerun == "narrowed" and shown.forensic == {**located.forensic, **fence}
    assert choosing.chosen(Results((failed(), clean)), failed().trial) == failed()
