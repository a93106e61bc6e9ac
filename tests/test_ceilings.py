from dataclasses import replace
from typing import Any

import example_results as examples
import pytest

from workbench import gpus, kernels
from workbench.pages.ceilings import ceilings, visited
from workbench.results import Result, Results

CASE: dict[str, Any] = dict(tokens=1024, experts=32, hidden=3072, columns=5760, top_k=4, routing="uniform")
SMALL = CASE | dict(tokens=1, experts=1, hidden=64, columns=64, top_k=1)
GPU = "NVIDIA H200"
REACHED = {"copy_tb_s": 2.4, "bf16_tflop_s": 494.5}  # half of what the datasheet says


def visit(case: dict[str, Any] = CASE, kernel: str = "mxfp4_swiglu", **facts: Any) -> Result:
    floor_us = gpus.floor_us(kernels.get("mxfp4_swiglu").cost(**case), GPU)
    time = (
        examples.timed(1000.0, floor_us, 1)
        | {"median_us": 1000.0, "ceilings": REACHED}
        | facts.pop("time", {})
    )
    turn = dict(generation=1, visit=1, mode="graph", gpu=GPU) | facts
    return examples.one(kernel, case, examples.OLD, time=time, **turn)


def row(*visits: Result) -> dict[str, str]:
    shown = ceilings(Results(visits))
    return dict(zip(shown.heads, shown.rows[0], strict=True))


def test_half_the_ceiling_is_twice_the_share() -> None:
    floor_us = visit().time["floor_us"]
    shown = row(visit())
    assert shown["share of nominal floor"] == f"{floor_us / 1000:.0%}"
    assert shown["share of measured ceiling"] == f"{2 * floor_us / 1000:.0%}"


def test_processes_and_visits_are_counted() -> None:
    turns = [visit(generation=generation, visit=number) for generation in (1, 2, 3) for number in (1, 2)]
    assert (row(*turns)["processes"], row(*turns)["visits"]) == ("3", "6")


def test_under_two_us_it_is_launch_bound() -> None:
    shown = row(visit(SMALL))
    assert shown["share of nominal floor"] == shown["share of measured ceiling"] == "launch-bound"


@pytest.mark.parametrize(
    "odd",
    [
        visit(kernel="of_my_own"),  # its cost is not known here
        visit(time={"floor_us": 12.0}),  # its kernel file counted otherwise
        visit(time={"ceilings": {}}),
        visit(time={"ceilings": {"copy_tb_s": 0, "bf16_tflop_s": "fast"}}),
    ],
)
def test_no_share_without_a_cost_and_a_ceiling(odd: Result) -> None:
    assert row(odd)["share of measured ceiling"] == "-"
    assert row(odd)["share of nominal floor"].endswith("%")


def test_only_visits_of_the_newest_version_count() -> None:
    older = replace(visit(), kernel_hash="old", provenance={"started": "2025-01-01"})
    plainly, again = visit(generation=0), visit(rerun="verified")
    (found,) = visited(Results((older, plainly, again, visit())))
    assert len(found.visits) == 1
    assert (
        visited(Results((visit(), replace(visit(), outcome="crashed", reason="launch_failure", time={}))))
        == []
    )


def test_nothing_by_turns_says_how_to_get_it() -> None:
    assert "`workbench run --interleave" in repr(ceilings(Results()))
