"""The tables of the page on measuring, from made-up processes: what they say of equal and of different sides."""

import json
import random

import pytest

from workbench import trust
from workbench.comparison import QUICK, Side, compare, found_rates
from workbench.results import Outcome, Result, Results, Trial


def process(arm, generation, time_us, chosen, dial=0.0, throttle=()):
    samples = [time_us * (1 + chosen.gauss(0, 0.002)) for _ in range(30)]
    trial = Trial("dial", {"dial": dial}, "graph", "made up", "made-up GPU")
    return [
        Result(
            trial, "run", Outcome.OK, "ok", arm=arm, generation=generation, visit=visit,
            time={"timer": "cupti", "samples_us": samples, "clocks": {"sm_mhz": 1980, "throttle": list(throttle)}},
            provenance={"gpu": {"uuid_hash": "c"}, "environment": {"hash": "e"}},
        )
        for visit in (1, 2)
    ]  # fmt: skip


def run(generations=6, **more):
    chosen = random.Random(0)
    found = []
    for generation in range(1, generations + 1):
        for arm in "ab":
            for dial in (0.0, 0.02):
                time_us = 100 * (1 + dial) * (1 + chosen.gauss(0, 0.001))
                found += process(arm, generation, time_us, chosen, dial, **more)
    return Results(tuple(found))


def test_equal_sides_are_counted_and_their_bound_is_stated():
    (row,) = trust.equal_sides(run()).rows
    assert row[:3] == ("made up", "2", "6")
    assert row[4:6] == ("0", "0")
    assert "0 of 2 comparisons" in repr(trust.bound(run())) and "77.6%" in repr(trust.bound(run()))


def test_a_change_that_was_made_is_found_with_enough_processes():
    found = {each.processes: each for each in found_rates(run(), draws=200)}
    assert found[6].slower > 0.95 and found[6].faster == 0
    assert abs(found[6].effect - 0.02) < 0.002
    assert "+2.0" in repr(trust.made(run())) or "+1.9" in repr(trust.made(run()))


def test_quick_decides_nothing_under_a_throttle_reason():
    sides = Side("made up", "a"), Side("made up", "b")
    calm = compare(run(1), *sides, QUICK)
    hot = compare(run(1, throttle=("SwPowerCap",)), *sides, QUICK)
    assert {str(each.verdict) for each in calm} == {"SAME"}
    assert {str(each.verdict) for each in hot} == {"AMBIGUOUS"}
    assert all("assumed while throttled" in each.reasons for each in hot)


def test_every_timer_has_its_column(tmp_path):
    row = {"call": "<b>spin</b>", "ours": 10.72, "ncu": "did not run"}
    (tmp_path / "t.json").write_text(json.dumps({"gpu": "G", "date": "D", "rows": [row]}))
    shown = trust.truth(tmp_path / "t.json")
    assert "10.72" in repr(shown) and "<b>" not in shown._repr_html_()


@pytest.mark.parametrize("text", ["{torn", "[]", '{"rows": 5}', None])
def test_what_is_not_there_is_said(tmp_path, text):
    if text is not None:
        (tmp_path / "t.json").write_text(text)
    assert "benchmarks/truth.py" in repr(trust.truth(tmp_path / "t.json"))
    assert "--arms 2" in trust.equal_sides(Results())._repr_html_()
    assert "dial" in repr(trust.made(Results())) and "A/A" in repr(trust.possible(Results()))


def test_what_the_tool_takes_is_shown_as_it_was_printed(tmp_path):
    summary = {"planned": 138, "outcomes": {"ok": 156, "wrong": 48, "not_run": 12}, "wall_s": 44.58}
    (tmp_path / "quick<b>.json").write_text(json.dumps(summary))
    (tmp_path / "isolated.json").write_text('{"wall_s": {"plain": [16.4]}, "ratio": 1.125}')
    (tmp_path / "torn.json").write_text('{"wall_s": 4')
    shown = trust.cost(tmp_path)
    assert shown.rows == (("isolated", "-", "-", "-", "1.125"), ("quick<b>", "138", "216", "44.6", "-"))
    assert "quick<b>" not in shown._repr_html_()
    assert "benchmarks/isolated.py" in repr(trust.cost(tmp_path / "none"))
