"""The pure parts of a bisection: what an attempt says, which versions lie between, what is mixed, what is shown."""

from pathlib import Path

import pytest
from made_wheels import make_wheel

from workbench.bisecting import Probe, Until, axis, candidates, mixing, text
from workbench.bisecting.answer import Answer
from workbench.bisecting.deciding import answer_of, said
from workbench.bisecting.found import Found
from workbench.environments import Built, Releases, listing, parse
from workbench.results import OUTCOME_OF_REASON, Result, Trial

GOOD, BAD, UNKNOWN = Answer.GOOD, Answer.BAD, Answer.UNKNOWN


def attempt(reason, stage="first_call", environment="e", detail="", **facts):
    trial = Trial("k", {"n": 1}, "eager", environment, "cpu")
    return Result(trial, "r", OUTCOME_OF_REASON[reason], reason, detail, stage, **facts)


@pytest.mark.parametrize(
    ("reason", "stage", "until", "answer"),
    [
        ("ok", "done", Until.ANY, GOOD),
        ("wrong_numbers", "check", Until.ANY, BAD),
        ("wrong_numbers", "check", Until.WRONG, BAD),
        ("wrong_numbers", "check", Until.CRASH, UNKNOWN),
        ("illegal_memory_access", "first_call", Until.CRASH, BAD),
        ("illegal_memory_access", "first_call", Until.WRONG, UNKNOWN),
        ("hang_timeout", "first_call", Until.CRASH, BAD),
        ("hang_timeout", "build", Until.CRASH, UNKNOWN),
        ("oom_host", "first_call", Until.CRASH, UNKNOWN),
        ("import_error", "import", Until.ANY, UNKNOWN),
        ("segfault_abort", "import", Until.CRASH, UNKNOWN),
        ("component_missing", "import", Until.MISSING, BAD),
        ("api_changed", "find", Until.ANY, BAD),
        ("no_kernel_for_config", "first_call", Until.MISSING, BAD),
        ("not_run", "find", Until.ANY, UNKNOWN),
        ("not_run", "find", Until.MISSING, UNKNOWN),
        ("ok", "done", Until.SLOWER, GOOD),
        ("wrong_numbers", "check", Until.SLOWER, UNKNOWN),
    ],
)
def test_what_an_attempt_says(reason, stage, until, answer):
    assert answer_of(attempt(reason, stage), until) == answer


def test_a_function_that_was_found_is_not_missing_though_nothing_was_run():
    found = {"name": "f"}
    assert answer_of(attempt("not_run", "find", found=found), Until.MISSING) == GOOD
    assert answer_of(attempt("wrong_numbers", "check", found=found), Until.MISSING) == GOOD
    assert answer_of(attempt("no_kernel_for_config", found=found), Until.MISSING) == BAD
    assert answer_of(attempt("not_run", "find", found=found), Until.ANY) == UNKNOWN


def test_the_fault_of_a_flaky_one_is_said():
    flaky = [attempt("ok"), attempt("wrong_numbers", detail="off by 3\nmore"), attempt("ok"), attempt("ok")]
    assert said(flaky, UNKNOWN, Until.ANY) == "wrong: off by 3 (flaky, 1 of 4 attempts)"
    assert said(flaky[2:], GOOD, Until.ANY) == "ok (2 of 2 attempts)"
    assert said([], UNKNOWN, Until.ANY) == "no attempt was made"


def test_ends_that_differ_in_one_version_are_an_axis():
    along = axis("a==1 flashinfer==0.6.7", "a==1 flashinfer==0.6.9")
    assert (along.package, along.spec("0.6.8")) == ("flashinfer-python", "a==1 flashinfer-python==0.6.8")
    assert (
        axis("a==1 b==1", "a==2 b==2") is None
        and axis("a==1", "b==2") is None
        and axis("a==1", "a==1 b==2") is None
    )
    stack = axis("sglang==0.5.11", "sglang==0.5.12")
    assert (stack.package, stack.spec("0.5.11.post1")) == ("sglang", "sglang==0.5.11.post1")
    carried = [f"flashinfer==1 triton_kernels@sglang-kernel==0.4.{n}" for n in (2, 5)]
    assert axis(*carried).package == "sglang-kernel"
    assert axis(*carried).spec("0.4.3").endswith("triton_kernels@sglang-kernel==0.4.3")


def test_versions_lie_between_the_ends_in_the_order_asked():
    found = Releases(
        "a", ("0.9", "1.0", "1.9", "1.10rc1", "1.10", "2.0", "3.0"), {"1.5": "yanked", "9": "yanked"}
    )
    up, down = candidates(axis("a==1.0", "a==2.0"), found), candidates(axis("a==2.0", "a==1.0"), found)
    assert up.versions == ("1.0", "1.9", "1.10", "2.0") and down.versions == up.versions[::-1]
    assert up.left_out == {"1.5": "yanked", "1.10rc1": "pre-release"}
    assert "1.10rc1" in candidates(axis("a==1.0", "a==2.0rc1"), found).versions


def test_what_pip_says_of_versions_is_read():
    every = (
        "ERROR: Ignored the following yanked versions: 1.1, 1.4\n"
        "ERROR: Ignored the following versions that require a different python version: 2.0 Requires-Python >=3.13; "
        "2.1 Requires-Python >=3.13,<4\n"
        "ERROR: Could not find a version that satisfies the requirement a<0.dev0 (from versions: 0.9, 1.0, 1.2, 1.10)\n"
    )
    usable = "ERROR: ... (from versions: 1.0, 1.2, 1.10)\n"
    found = listing.read("a", every, usable)
    assert found.versions == ("1.0", "1.2", "1.10")
    assert found.left_out == {
        "0.9": "no wheel for this Python and machine", "1.1": "yanked", "1.4": "yanked", "2.0": "for another Python",
        "2.1": "for another Python",
    }  # fmt: skip


def built(spec, packages, inherited=(), python="3.12.3"):
    return Built(parse(spec), Path("python"), "h", dict(packages), dict(inherited), python, {}, 0.0)


BEFORE = {"flashinfer-python": "0.6.8", "a": "1", "gone": "3", "triton-kernels-of-sglang-kernel": "0.4.2"}
AFTER = {"flashinfer-python": "0.6.9", "a": "1", "new": "5", "triton-kernels-of-sglang-kernel": "0.4.5"}


def test_a_mixture_has_some_packages_of_the_bad_end_and_the_rest_as_they_were():
    good = built("flashinfer==0.6.8", BEFORE, {"torch": "2.11"})
    bad = built("flashinfer==0.6.9", AFTER, {"torch": "2.11"})
    found = mixing.moves(good, bad)
    assert list(map(str, found)) == [
        "flashinfer-python 0.6.8 -> 0.6.9", "gone 3 -> none", "new none -> 5",
        "triton-kernels-of-sglang-kernel 0.4.2 -> 0.4.5",
    ]  # fmt: skip
    few = mixing.mixed(good, bad, found, {"new"})
    assert few.name == "flashinfer 0.6.8 with new 5"
    assert set(few.requirements) == {
        "flashinfer-python==0.6.8", "a==1", "gone==3", "new==5", "triton_kernels@sglang-kernel==0.4.2"
    }  # fmt: skip
    many = mixing.mixed(good, bad, found, {"new", "gone", "flashinfer-python"})
    assert many.name == "flashinfer 0.6.9 with triton-kernels-of-sglang-kernel 0.4.2"
    assert "gone==3" not in many.requirements
    assert mixing.mixed(good, bad, found, {each.package for each in found}).name != bad.environment.name


def test_what_was_installed_otherwise_than_meant_is_said():
    good, bad = built("a==1", {"a": "1", "b": "1"}), built("a==1", {"a": "1", "b": "2"})
    found = mixing.moves(good, bad)
    assert mixing.strays(bad, good, found, {"b"}) == []
    assert mixing.strays(good, good, found, {"b"}) == ["b is 1 where 2 is wanted"]


def test_a_wheel_that_was_asked_for_by_path_is_installed_from_there(tmp_path):
    wheels = [make_wheel(tmp_path, "b", version, {"b.py": ""}) for version in ("1", "2")]
    good, bad = (built(f"a==1 {wheel}", {"a": "1", "b": wheel.name[2]}) for wheel in wheels)
    mixed = mixing.mixed(good, bad, mixing.moves(good, bad), {"b"})
    assert set(mixed.requirements) == {"a==1", str(wheels[1])}


def test_an_interpreter_gets_what_is_moved_and_keeps_the_rest():
    good, bad = (built("here", {"sglang-kernel": version}) for version in ("1", "2"))
    assert mixing.mixed(good, bad, mixing.moves(good, bad), {"sglang-kernel"}).requirements == (
        "sglang-kernel==2",
    )


def test_text_that_came_with_results_is_plain():
    one = Probe(attempt("ok", environment="e\x1b[31m 1").trial, GOOD, "ok", 2, 0)
    other = Probe(attempt("ok", environment="e 2").trial, BAD, "wrong", 2, 2)
    shown = text(Found("releases", one, other, (one, other), unsure=("1.5",), left_out={"1.2": "yanked"}))
    assert "\x1b" not in shown
    assert (
        "cannot tell 1.5: the first bad one may be among them" in shown and "left out    yanked: 1.2" in shown
    )
    assert "2 environments, 1 of them answered by what was stored" in shown
