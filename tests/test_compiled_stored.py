"""The stored compile-only results: what the real device launched equals what was compiled without it."""

from pathlib import Path
from typing import Any

from workbench.results import Result
from workbench.store import load

RESULTS = Path(__file__).parent.parent / "results"
STORED = load(RESULTS / "compiled")


PRODUCTS = (
    "_matmul",
    "_p_matmul",
    "_reduce",
)  # not the routing's, which is made ready before a call is timed


def key(result: Result, how: str) -> tuple[str, ...]:
    packages = result.provenance["environment"]["packages"]
    made = result.forensic[how]
    copy = packages["triton-kernels-of-sglang-kernel"]
    return result.trial.kernel, result.trial.label, copy, made["triton"], made["sm"]


def told(how: str) -> dict[tuple[str, ...], Result]:
    return {key(each, how): each for each in STORED if each.forensic.get(how, {}).get("triton")}


def shape(result: Result, how: str) -> list[tuple[Any, ...]]:
    """What must be equal of each kernel, in the order of their launches; its name holds its blocks."""
    names = ("name", "shared_bytes", "num_warps", "num_stages")
    return [tuple(each.get(name) for name in names) for each in result.forensic[how]["kernels"]]


def test_all_that_is_stored_can_be_read_and_is_compiled_only() -> None:
    assert len(STORED) and not STORED.problems
    for result in STORED:
        assert result.trial.mode == "compiled" and not result.time
        planned = not result.attempt
        assert planned or result.trial.gpu.endswith("compiled only") or "launched" in result.forensic


def test_the_h200_ran_the_kernels_that_were_compiled_without_it() -> None:
    """By the names its profiler saw in replayed graphs: a name holds the blocks, split-K, types and the epilogue."""
    compiled = {
        each.trial.label: {name for name, *_ in shape(each, "compiled") if name.startswith(PRODUCTS)}
        for each in STORED
        if each.attempt and key_is(each, "SM90, compiled only", "0.4.2.post1", "3.6.0")
    }
    checked = set()
    for each in load(RESULTS):
        names = {name for name in each.time.get("kernels", []) if name.startswith(PRODUCTS)}
        if names and each.trial.label in compiled and key_is(each, "NVIDIA H200", "0.4.2.post1", "3.6.0"):
            assert names == compiled[each.trial.label], each.trial.label
            checked.add(each.trial.label)
    assert len(checked) >= 14


def key_is(result: Result, gpu: str, copy: str, triton: str) -> bool:
    environment = result.provenance["environment"]
    packages = {**environment.get("inherited", {}), **environment.get("packages", {})}
    found = packages.get("triton-kernels-of-sglang-kernel"), packages.get("triton")
    return result.trial.kernel == "mxfp4_swiglu" and result.trial.gpu == gpu and found == (copy, triton)


def test_the_stand_in_chooses_what_the_device_chooses() -> None:
    launched, compiled = told("launched"), told("compiled")
    both = launched.keys() & compiled.keys()
    assert len(both) == 15, "three copies, five cases each, told by the H200"
    for each in both:
        assert shape(launched[each], "launched") == shape(compiled[each], "compiled"), each


def test_an_empty_kernel_is_found_on_sm90_and_on_no_other() -> None:
    """The H200 itself wrote nothing (results/h200): the code for SM90 says why, that for the others is whole."""
    ended = {
        (each.trial.environment, each.trial.gpu): each.reason
        for each in STORED
        if each.trial.kernel == "fp4_quantize" and each.attempt
    }
    families = dict.fromkeys(("SM100", "SM103", "SM120", "SM121"), "ok") | {"SM90": "does_nothing"}
    versions = ("flashinfer 0.6.8.post1", "flashinfer 0.6.11.post1")
    assert ended == {
        (version, f"{family}, compiled only"): reason
        for family, reason in families.items()
        for version in versions
    }


def test_the_public_assert_is_met_without_a_card() -> None:
    wanted = ("triton 3.6.0 + triton_kernels 0.4.2.post1", "SM120, compiled only", 8)
    (found,) = [
        each
        for each in STORED
        if (each.trial.environment, each.trial.gpu, each.trial.case.get("experts")) == wanted and each.attempt
    ]
    assert found.outcome == "failed" and "assert num_stages >= 1" in found.detail
