"""The tables of the page on measuring, from made-up processes: what they say of equal and of different sides."""

import json
import random
from dataclasses import replace

import pytest

from workbench.comparison import QUICK, Side, compare, found_rates
from workbench.pages import trust
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
    found = {each.processes: each for each in found_rates(run(), processes=(6,), draws=200)}
    assert found[6].slower > 0.95 and found[6].faster == 0
    assert abs(found[6].effect - 0.02) < 0.002


def test_quick_decides_nothing_under_a_throttle_reason():
    sides = Side("made up", "a"), Side("made up", "b")
    calm = compare(run(1), *sides, QUICK)
    hot = compare(run(1, throttle=("SwPowerCap",)), *sides, QUICK)
    assert {str(each.verdict) for each in calm} == {"SAME"}
    assert {str(each.verdict) for each in hot} == {"AMBIGUOUS"}
    assert all("assumed while throttled" in each.reasons for each in hot)


def test_what_each_effort_finds_is_said_in_words_with_the_picture(monkeypatch):
    monkeypatch.setattr(trust, "DRAWS", 20)
    shown = trust.made(run(12))
    assert "Default (5 processes a side) tells +2% in 100%." in shown.alt and shown.alt.count("tells") == 3
    assert shown.png().startswith(b"\x89PNG")
    quick, *others = shown.rows
    assert quick[:2] == ("quick", "+2%") and len(others) == len(trust.COUNTS) + 1


def test_an_interval_is_of_the_comparisons_that_share_no_process():
    found = {each.processes: each for each in found_rates(run(12), processes=(6, 12), draws=50)}
    assert [each.independent for each in found.values()] == [
        4,
        2,
    ]  # 24 processes of each step, both arms together
    assert found[6].interval() == (pytest.approx(0.398, abs=1e-3), 1.0)  # 4 of 4
    assert replace(found[6], slower=0.0).interval() == (0.0, pytest.approx(0.602, abs=1e-3))
    assert replace(found[6], independent=0).interval() == (0.0, 1.0)


def test_what_is_not_there_is_said(tmp_path):
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
