"""Environments by turns: the order of visits, and a real A/A run on the CPU."""

import sys
from pathlib import Path

import pytest

from workbench import crew, environments, interleaving, planning, runner
from workbench.comparison import Side, compare
from workbench.results import Outcome, Result, Results, Trial
from workbench.store import load
from workbench.worker import activity, stopwatch

ZOO = Path(__file__).parent / "kernels"
HERE = environments.parse("here", sys.executable)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("generation", [1, 2, 3, 4, 5])
def test_a_linear_drift_meets_all_sides_alike(count, generation):
    sides = interleaving.arms([HERE], count)
    order = interleaving.visits(sides, generation)
    assert len(order) == 2 * count
    places = {arm: [place for place, visit in enumerate(order) if visit.arm == arm] for arm in sides}
    assert {sum(each) for each in places.values()} == {2 * count - 1}
    assert [visit.number for visit in order] == [1] * count + [2] * count


def test_another_side_begins_in_each_generation():
    sides = interleaving.arms([HERE], 3)
    assert len({interleaving.visits(sides, generation)[0].arm for generation in (1, 2, 3)}) == 3


def attempts(generation, *visits, card="c1"):
    """At one trial: `visits` are arm and number, with an outcome where it is not ok."""
    trial = Trial("k", {}, "eager", "e", "NVIDIA H200")
    return [
        Result(
            trial, "r", Outcome(rest[0] if rest else "ok"), "ok", arm=arm, generation=generation, visit=number,
            provenance={"gpu": {"uuid_hash": card}},
        )
        for arm, number, *rest in visits
    ]  # fmt: skip


WHOLE = (("a", 1), ("b", 1), ("b", 2), ("a", 2))


@pytest.mark.parametrize(
    ("stored", "numbers"),
    [
        ([], [1, 2, 3]),
        (attempts(1, *WHOLE), [2, 3]),
        (attempts(1, *WHOLE) + attempts(2, *WHOLE[:3]), [3, 4]),  # the second was stopped in its middle
        (attempts(1, *WHOLE[:1]) + attempts(2, *WHOLE[:2]) + attempts(3, *WHOLE), [4, 5]),
        (
            attempts(1, ("a", 1, "crashed"), ("b", 1), ("b", 2)),
            [2, 3],
        ),  # a side that fails is not asked again
        (attempts(1, *WHOLE, card="c2") + attempts(2, *WHOLE, card="c2"), [3, 4, 5]),
        ([each for n in (1, 2, 3) for each in attempts(n, *WHOLE)], []),
    ],
)
def test_a_comparison_that_was_stopped_goes_on_with_the_generations_it_lacks(stored, numbers):
    asked = {(Trial("k", {}, "eager", "e", "NVIDIA H200"), arm) for arm in "ab"}
    assert list(interleaving.left(stored, asked, 3, "c1")) == numbers


@pytest.fixture
def by_turns(tmp_path):
    def run(file, cases, **options):
        kernel = planning.from_file(ZOO / f"{file}.py", cases)
        planned = planning.plan([kernel], [HERE], ["eager"], gpu=None)
        given = {"interleave": True, "arms": 2, "generations": 2, "effort": "quick", "quiet": True, **options}
        runner.run(planned, None, runner.Options(results=tmp_path, memory_mb=700, **given))
        return [each for each in load(tmp_path) if each.attempt]

    return run


@pytest.mark.slow
def test_an_environment_against_itself(by_turns):
    found = by_turns("misbehaving", [{"how": "right", "place": 0}, {"how": "right", "place": 2}])
    assert len(found) == 2 * 2 * 2 * 2  # cases, arms, generations, visits
    first = [each for each in found if each.trial.case["place"] == 0]
    assert [each.arm + str(each.visit) for each in first] == ["a1", "b1", "b2", "a2", "b1", "a1", "a2", "b2"]
    assert [each.generation for each in first] == [1] * 4 + [2] * 4
    assert len({each.run for each in found}) == 1
    changes = compare(Results(tuple(found)), Side(HERE.name, "a"), Side(HERE.name, "b"))
    assert [change.processes for change in changes] == [(2, 2), (2, 2)]


@pytest.mark.slow
def test_a_run_that_has_all_and_is_started_again_makes_nothing_twice(by_turns):
    cases = [{"how": "right", "place": 0}, {"how": "aborts", "place": 1}]
    first = by_turns("misbehaving", cases, generations=1, name="r")
    assert {each.run for each in first} == {"r"}
    assert by_turns("misbehaving", cases, generations=1, name="r") == first


@pytest.mark.slow
def test_a_side_that_fails_costs_its_own_visits_of_that_question_alone(by_turns):
    found = by_turns("misbehaving", [{"how": "segfaults", "place": 6}, {"how": "right", "place": 7}])
    crashed = [each for each in found if each.trial.case["how"] == "segfaults"]
    assert [str(each.outcome) for each in crashed] == ["crashed"] * 4  # one visit an arm and generation
    assert len([each for each in found if each.outcome == "ok"]) == 8


def test_the_second_visit_makes_and_checks_nothing_anew(by_turns):
    found = by_turns("misbehaving", [{"how": "right", "place": 0}], generations=1)
    first, second = [each for each in found if each.arm == "a"]
    assert "prepare" in first.stages and "prepare" not in second.stages
    assert second.check == first.check and second.inputs_hash == first.inputs_hash


def test_samples_are_taken_apart_at_the_spin_kernels():
    spin = "void spin_kernel(long)"
    found = [
        (0, 5, "fill"),
        (6, 9, spin),
        (10, 20, "a"),
        (15, 30, "b"),
        (40, 41, "c"),
        (50, 55, "fill"),
        (56, 60, spin),
    ]
    (part,) = activity.split(found)
    assert activity.one(part) == {"span_us": 0.031, "busy_us": 0.021, "kernels": ["a", "b", "c"]}
    assert activity.split([]) == [] and activity.one([])["kernels"] == []


def test_noise_is_how_well_the_median_is_known():
    assert stopwatch.noise([5.0] * 30) == 0.0
    wide, many = [9.0, 10.0, 11.0] * 10, [9.0, 10.0, 11.0] * 1000
    assert stopwatch.noise(many) < stopwatch.noise(wide) / 5


@pytest.mark.slow
def test_a_generation_starts_side_by_side_before_anything_is_timed(by_turns, monkeypatch):
    ready, started = crew.Crew._ready, []
    monkeypatch.setattr(crew.Crew, "_ready", lambda *given: started.append(ready(*given)) or started[-1])
    found = by_turns("misbehaving", [{"how": "right", "place": 0}])
    assert len(started) == 2 * 2 and all(started)
    assert [each.outcome for each in found] == [Outcome.OK] * 2 * 2 * 2


@pytest.mark.slow
def test_sides_that_memory_does_not_hold_together_go_one_after_the_other_and_it_is_said(
    by_turns, tmp_path, capsys
):
    found = by_turns("only_one", [{"memory": str(tmp_path / "memory")}], generations=1, quiet=False)
    assert [each.arm + str(each.visit) for each in found] == ["a1", "b1", "b2", "a2"]
    assert {str(each.outcome) for each in found} == {"ok"}
    assert [interleaving.ALONE in each.marks for each in found] == [False, True, True, True]
    assert capsys.readouterr().err.count(interleaving.NO_ROOM) == 1
    (change,) = compare(Results(tuple(found)), Side(HERE.name, "a"), Side(HERE.name, "b"))
    assert interleaving.ALONE in change.reasons


LEAVES = """
import os, sys
from math import sqrt

API, DEVICES, TOLERANCE, VARIES, CASES = "math.sqrt", ("cpu",), 1e-6, (), [{"number": 4.0}]
if "workbench_worker" in sys.modules:
    os._exit(7)


def inputs(number, seed=0):
    return {"number": number}


def prepare(function, inputs):
    return lambda: [sqrt(inputs["number"])]


def reference(inputs):
    return {"out": [inputs["number"] ** 0.5]}


def cost(number):
    return dict(bytes=0, flops=0)
"""


@pytest.mark.slow
def test_a_process_that_does_not_come_up_is_told_by_its_trial(by_turns, tmp_path):
    (tmp_path / "leaves.py").write_text(LEAVES)
    found = by_turns(tmp_path / "leaves", [{"number": 4.0}])
    assert {each.outcome for each in found} == {Outcome.CRASHED}
    assert all("exit code 7" in each.detail for each in found)
