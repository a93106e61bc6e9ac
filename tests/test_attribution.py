"""Three things apart, each with its evidence: from made-up attempts. Nothing was measured."""

from dataclasses import replace

import pytest

from workbench import attribution
from workbench.results import OUTCOME_OF_REASON, Result, Trial

MATMUL = "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x256x128x1_swiglu"
FILE = "triton_kernels/matmul_ogs_details/_matmul_ogs.py"
HOME = {"file": FILE, "package": "triton-kernels-of-sglang-kernel", "version": "0.4.2.post1"}
OLD = {"flashinfer-python": "0.6.8.post1", "triton-kernels-of-sglang-kernel": "0.4.2.post1"}
NEW = {**OLD, "flashinfer-python": "0.6.11.post1"}
ALONE = {"triton-kernels-of-sglang-kernel": "0.4.2.post1"}


def attempt(
    packages, hidden=2880, reason="illegal_memory_access", mode="fenced", number=1, inherited=None, **facts
):
    name = " + ".join(f"{each} {version}" for each, version in packages.items())
    trial = Trial("mxfp4_swiglu", {"hidden": hidden, "tokens": 16}, mode, name, "Example GPU")
    inherited = inherited or {"torch": "2.11.0", "triton": "3.6.0"}
    environment = {
        "hash": str(sorted({**packages, **inherited}.items())),
        "packages": packages,
        "inherited": inherited,
    }
    said = "" if reason == "ok" else "CUDA error: an illegal memory access was encountered"
    return Result(
        trial, "run", OUTCOME_OF_REASON[reason], reason, attempt=number, stderr=said,
        provenance={"environment": {**environment, "python": "3.12.3"}}, **facts,
    )  # fmt: skip


def by(how, kernel=MATMUL, **more):
    return {"fault": {"kernel": kernel, "by": how, "error": "warp illegal address", **more}}


CRASH = attempt(OLD)


def test_nothing_is_known_of_a_lone_crash():
    assert attribution.attribute([CRASH], CRASH.trial) == dict.fromkeys(
        ("where", "flips", "who"), "not known"
    )


def test_where_is_what_the_surest_source_named():
    located = attempt(OLD, number=2, rerun="located", forensic=by("core dump", **HOME))
    blocking = attempt(OLD, number=3, rerun="located", forensic=by("blocking launch", kernel=""))
    where = attribution.attribute([CRASH, blocking, located], CRASH.trial)["where"]
    assert (where["kernel"], where["file"], where["package"], where["by"]) == (
        MATMUL,
        FILE,
        HOME["package"],
        "core dump",
    )
    assert where["evidence"] == [CRASH.trial.id]


@pytest.mark.parametrize(
    ("kernel", "package"),
    [
        ("void at::native::fill_kernel<4, flashinfer::X>(int)", "torch"),
        ("void flashinfer::BatchDecode<64>(flashinfer::P)", "flashinfer-python"),
        ("void cutlass::device_kernel<at::native::X>(T1)", None),
        ("some_kernel", None),
    ],
)
def test_a_namespace_tells_whose_code_it_is(kernel, package):
    crash = attempt(OLD, forensic=by("sanitizer", kernel=kernel))
    assert attribution.attribute([crash], crash.trial)["where"].get("package") == package


def test_one_input_that_flips_it_is_named_with_both_trials():
    right = attempt(OLD, hidden=3072, reason="ok")
    found = attribution.attribute([CRASH, right], CRASH.trial)
    (change,) = found["flips"]["changes"]
    assert change == {
        "kind": "input", "name": "hidden", "faults_with": 2880, "right_with": 3072,
        "faults": CRASH.trial.id, "right": right.trial.id,
    }  # fmt: skip
    assert found["who"]["who"] == "caller"
    assert found["who"]["evidence"] == found["flips"]["evidence"] == [CRASH.trial.id, right.trial.id]
    assert attribution.attribute([CRASH, right], right.trial)["flips"]["changes"] == [change]


def test_one_component_that_flips_it_is_named():
    right = attempt(NEW, reason="ok")
    found = attribution.attribute([CRASH, right], CRASH.trial)
    (change,) = found["flips"]["changes"]
    assert (change["kind"], change["name"], change["right_with"]) == (
        "component",
        "flashinfer-python",
        "0.6.11.post1",
    )
    assert found["who"]["who"] == "library"


@pytest.mark.parametrize(
    "right",
    [
        attempt(NEW, hidden=3072, reason="ok"),  # two things differ
        attempt(NEW, reason="ok", inherited={"torch": "2.12.0", "triton": "3.6.0"}),
        attempt(OLD, hidden=3072, reason="ok", mode="eager"),
        attempt(OLD, hidden=3072, reason="unsupported_arch"),  # not right, only elsewhere
        attempt(OLD, hidden=3072, reason="ok", kernel_hash="another file"),
    ],
)
def test_what_differs_in_more_than_one_thing_flips_nothing(right):
    assert attribution.attribute([CRASH, right], CRASH.trial)["flips"] == "not known"


def test_a_flaky_trial_flips_nothing():
    flaky = [attempt(OLD, hidden=3072, reason="ok"), attempt(OLD, hidden=3072, number=2)]
    assert attribution.attribute([CRASH, *flaky], CRASH.trial)["flips"] == "not known"


def test_a_kernel_that_leaves_a_tensor_of_the_call_is_the_librarys():
    beside = {"kind": "out_of_bounds", "side": "after", "tensor": "exponents", "distance_bytes": 1}
    report = {"tool": "memcheck", "findings": [beside]}
    crash = attempt(OLD, mode="sanitized", forensic={**by("sanitizer", **HOME), "sanitizer": report})
    right = attempt(OLD, hidden=3072, mode="sanitized", reason="ok")
    found = attribution.attribute([crash, right], crash.trial)
    assert found["where"]["tensors"] == ["exponents"]
    assert found["who"]["who"] == "both"
    assert "leaves exponents" in found["who"]["rules"][0]


def test_narrowing_names_the_tensor():
    fence = {"edge": "end", "only": ["asked.scales"], "tensors": []}
    narrowed = attempt(OLD, number=3, rerun="narrowed", forensic={"fence": fence})
    located = attempt(OLD, number=2, rerun="located", forensic=by("core dump", **HOME))
    found = attribution.attribute([CRASH, located, narrowed], CRASH.trial)
    assert found["where"]["tensors"] == ["asked.scales"]
    assert found["who"]["who"] == "library"


def test_not_needed_is_said_only_where_it_was_seen_without():
    assert attribution.not_needed([CRASH], CRASH.trial) == {}
    alone = attempt(ALONE)
    assert attribution.not_needed([CRASH, alone], CRASH.trial) == {"flashinfer-python": [alone.trial.id]}
    assert attribution.not_needed([CRASH, attempt(ALONE, reason="ok")], CRASH.trial) == {}
    assert attribution.not_needed([CRASH, attempt(ALONE, hidden=4096)], CRASH.trial) == {}
    assert attribution.not_needed([CRASH, attempt(ALONE, mode="piecewise+fenced")], CRASH.trial) == {}


def test_an_environment_without_a_record_lacks_nothing():
    unrecorded = replace(attempt({}), provenance={"environment": {"hash": "0"}})
    assert attribution.not_needed([CRASH, unrecorded], CRASH.trial) == {}


@pytest.mark.parametrize(
    "odd", [{"fault": 3}, {"sanitizer": {"findings": [1, None]}}, {"fence": [], "fault": {"kernel": 1}}]
)
def test_odd_records_are_read(odd):
    crash = attempt(OLD, forensic=odd)
    assert set(attribution.attribute([crash], crash.trial)) == {"where", "flips", "who"}
