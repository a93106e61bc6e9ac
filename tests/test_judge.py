"""Facts of an attempt -> outcome. Pure; the texts that libraries write are judged in test_reasons.py."""

import pytest

from workbench.judge import Facts, judge
from workbench.results import Outcome

RIGHT = {
    "right": True,
    "error": 1e-3,
    "tolerance": 1e-2,
    "untouched": 0.0,
    "nonfinite": 0,
    "where": "out, row 3",
}

NO_GPU = {"reason": "not_run", "message": "no GPU here"}


def done(check=RIGHT, **more):
    told = {"check": check, "time": {"median_us": 10.0}, **more.pop("told", {})}
    return Facts("done", told, end="done", **more)


@pytest.mark.parametrize(
    ("facts", "outcome", "says"),
    [
        (done(), Outcome.OK, "worst row off by 0.001"),
        (done({**RIGHT, "right": False, "error": 0.5}), Outcome.WRONG, "out, row 3"),
        (done({**RIGHT, "right": False, "error": None, "nonfinite": 7}), Outcome.WRONG, "7 values are not finite"),
        (done({**RIGHT, "right": False, "untouched": 1.0}), Outcome.WRONG, "nothing was written"),
        (done(told={"check_changed": {**RIGHT, "right": False}}), Outcome.WRONG, "inputs had changed"),
        (done(floor_us=10.2), Outcome.OK, ""),
        (done(floor_us=20.0), Outcome.IMPLAUSIBLE, "the hardware needs 20 us"),
        (Facts("done", {}, end="done"), Outcome.FAILED, "without a check"),
        (Facts("first_call", {}, killed="limit", limit_s=3), Outcome.HUNG, "first_call: not done after 3 s"),
        (done(told={"refused": "no module m"}), Outcome.NOT_RUN, "no module m"),
        (done({**RIGHT, "right": False}, told={"refused": "no module m"}), Outcome.NOT_RUN, "no module m"),
        (Facts("check", {"refused": "no module m"}, code=-11), Outcome.NOT_RUN, "no module m"),
        (Facts("check", {"refused": "no module m"}, killed="limit"), Outcome.NOT_RUN, "no module m"),
        (Facts("build", {}, killed="idle"), Outcome.HUNG, "no compiler"),
        (Facts("prepare", {}, killed="memory"), Outcome.OUT_OF_MEMORY, "memory"),
        (Facts("time", {"check": RIGHT}, end="done", garbage=1), Outcome.FAILED, "channel"),
        (Facts("first_call", {}, code=0), Outcome.CRASHED, "exit code 0"),
        (Facts("first_call", {}, code=-11), Outcome.CRASHED, "SIGSEGV"),
        (Facts("first_call", {}, code=-200), Outcome.CRASHED, "signal 200"),
        (Facts("first_call", {}, code=None), Outcome.FAILED, "nobody knows"),
        (Facts("find", {"stopped": NO_GPU}, end="stopped"), Outcome.NOT_RUN, "no GPU"),
    ],
)  # fmt: skip
def test_outcomes(facts, outcome, says):
    judgement = judge(facts)
    assert judgement.outcome == outcome
    assert says in judgement.detail


def raised(stage, name, message, missing=None, **more):
    exception = {"type": name, "message": message, "missing": missing}
    return judge(Facts(stage, {"exception": exception}, end="exception", code=70, **more))


LACKS = {name: f"{name} (declared by a)" for name in ("cuda-tile", "nvidia-cutlass-dsl", "nccl4py")}


@pytest.mark.parametrize(
    ("missing", "lacking"),
    [
        ("cuda.tile", "cuda-tile"), ("cuda", "cuda-tile"), ("cutlass", "nvidia-cutlass-dsl"), ("nccl", "nccl4py"),
        ("a.gone", ""), ("tile", "cuda-tile"), ("lass", ""), (None, ""),
    ],
)  # fmt: skip
def test_what_the_environment_lacks_is_the_environments_fault(missing, lacking):
    found = raised(
        "import", "ModuleNotFoundError", f"No module named '{missing}'", missing, api="a.b", lacks=LACKS
    )
    assert (found.reason == "env_problem") == bool(lacking)
    assert f"lacks {lacking} (declared by a)" in found.detail if lacking else "lacks" not in found.detail
    assert f"No module named '{missing}'" in found.detail


def test_a_component_that_is_not_there_is_told_from_one_that_does_not_import():
    here = raised("import", "ModuleNotFoundError", "No module named 'a'", "a", api="a.b.c")
    inside = raised("import", "ModuleNotFoundError", "No module named 'z'", "z", api="a.b.c")
    assert (here.outcome, here.reason) == (Outcome.MISSING, "component_missing")
    assert "--environment a==X, or for `here`: pip install -e '.[measure]'" in here.detail
    assert inside.outcome == Outcome.FAILED


@pytest.mark.parametrize("how", [{"code": 127}, {"end": "exception"}])
def test_a_module_built_ahead_without_what_a_call_needs_is_no_fault_of_the_environment(how):
    said = "/modules/3aab/batch_prefill_q-bf16.so: undefined symbol: _ZN10flashinfer38Dispatched"
    told = {"exception": {"type": "OSError", "message": said}} if "end" in how else {}
    stderr = "" if "end" in how else f"bin/python: symbol lookup error: {said}\n"
    judged = judge(Facts("first_call", {**told, "prebuilt": ["batch_prefill_q-bf16"]}, stderr=stderr, **how))
    assert judged.outcome == Outcome.NOT_RUN and judged.detail.endswith("has no _ZN10flashinfer38Dispatched")
    assert "leave out less" in judged.detail
    its_own = judge(Facts("first_call", {**told, "prebuilt": ["xqa"]}, stderr=stderr, **how))
    assert its_own.reason == "version_skew"


def test_an_exception_names_its_stage():
    judgement = raised("first_call", "ValueError", "no such thing")
    assert judgement.outcome == Outcome.FAILED
    assert "no such thing" in judgement.detail


def test_leaving_the_process_is_a_crash_of_the_called_code():
    assert raised("first_call", "SystemExit", "0").reason == "exited_early"


def test_a_detail_is_capped():
    assert len(raised("first_call", "ValueError", "x" * 100_000).detail) <= 500


@pytest.mark.parametrize(("as_far", "says"), [(1, "1 element as far off"), (8, "8 elements as far off")])
def test_elements_are_counted_in_words(as_far, says):
    worst = {"column": 3, "of": 9, "got": 1.0, "wanted": 2.0, "as_far": as_far}
    assert says in judge(done({**RIGHT, "right": False, "error": 0.5, "worst": worst})).detail
