"""The comparison of two sides: its words, its margins, drift, Holm, and its text."""

import json
import math
from dataclasses import replace

import pytest
from process_times import NEW, OLD, STEADY, attempt, of_processes, one, times

from workbench.comparison import DEFAULT, EXPLAINED, QUICK, THOROUGH, Direction, Side, compare
from workbench.comparison.estimate import holm
from workbench.results import Outcome, Results


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@pytest.mark.parametrize("factor, word", [(1.05, "SLOWER"), (0.95, "FASTER"), (1.0, "SAME"), (1.008, "SAME")])
def test_the_words(factor, word):
    change = one(of_processes(STEADY, times(factor)))
    assert change.verdict == word
    assert change.ratio == pytest.approx(factor, rel=1e-3)
    assert change.processes == (5, 5)


def test_what_is_neither_says_how_many_more():
    change = one(of_processes([99.0, 100.0, 101.0], [99.5, 100.2, 101.2]))
    assert (change.verdict, change.reasons) == (Direction.AMBIGUOUS, ("noise",))
    assert 1 <= change.more_needed <= 40
    assert one(of_processes(STEADY, times(1.0098, [98, 100, 102]))).more_needed == 40, "capped"


@pytest.mark.parametrize("count", [1, 2])
def test_few_processes_decide_nothing(count):
    change = one(of_processes([100.0] * count, [150.0] * count))
    assert (change.verdict, change.reasons) == (Direction.AMBIGUOUS, ("few",))
    assert (change.processes, change.more_needed) == ((count, count), 5 - count)


def test_quick_assumes_a_spread_and_says_so():
    change = one(of_processes([100.0], [110.0]), QUICK)
    assert (change.verdict, change.reasons) == (Direction.SLOWER, ("spread assumed",))
    assert one(of_processes([100.0], [104.0]), QUICK).verdict == Direction.AMBIGUOUS
    assert one(of_processes([100.0], [101.0]), QUICK).verdict == Direction.SAME


def test_three_processes_a_side_tell_only_what_noise_never_was():
    small, large = (one(of_processes(STEADY[:3], times(factor)[:3])) for factor in (1.02, 1.05))
    assert (small.verdict, small.reasons, small.more_needed) == (Direction.AMBIGUOUS, ("by chance",), 1)
    assert (large.verdict, large.reasons) == (Direction.SLOWER, ("by chance",))
    four = one(of_processes(STEADY[:4], times(1.02)[:4]))
    assert (four.verdict, four.reasons) == (Direction.SLOWER, ())


@pytest.mark.parametrize("rule, count", [(QUICK, 1), (QUICK, 3), (DEFAULT, 3)])
def test_tuned_processes_are_never_assumed_alike(rule, count):
    change = one(of_processes([100.0] * count, [130.0] * count, mode="graph+tuned"), rule)
    assert (change.verdict, change.reasons) == (Direction.AMBIGUOUS, ("few",))
    assert change.more_needed >= 1


def test_margins_are_wider_for_short_kernels_and_narrower_when_thorough():
    short = one(of_processes(times(0.1), times(0.1015)))
    assert (short.verdict, short.limit) == (Direction.SAME, 0.02)
    assert one(of_processes(STEADY, times(1.007))).verdict == Direction.SAME
    assert one(of_processes(STEADY, times(1.007)), THOROUGH).verdict == Direction.SLOWER


def test_pairs_take_out_what_both_sides_share():
    drift = [100.0, 103.0, 106.0, 104.0, 101.0]
    assert one(of_processes(drift, times(1.02, drift))).verdict == Direction.SLOWER
    alone = of_processes(drift, times(1.02, drift), marks=["one after the other"])
    assert one(alone).verdict == Direction.AMBIGUOUS
    assert "one after the other" in one(alone).reasons


def test_linear_drift_cancels_over_the_visits_of_a_process():
    order = [(OLD, 0), (NEW, 1), (NEW, 2), (OLD, 3)]
    found = [
        attempt(environment, 100.0 * 1.01 ** (4 * generation + visit), generation, visit=visit)
        for generation in range(5)
        for environment, visit in order
    ]
    change = one(Results(tuple(found)))
    assert (change.verdict, change.processes) == (Direction.SAME, (5, 5))
    assert change.ratio == pytest.approx(1.0)
    assert "unbalanced" in one(Results(tuple(found[:-1]))).reasons


def test_holm_asks_more_of_many_trials():
    noisy = [100.0, 100.5, 101.0, 101.5, 102.0]
    alone = one(of_processes(noisy, times(1.02, noisy[::-1])))
    assert alone.verdict == Direction.SLOWER
    many = [of_processes(STEADY, STEADY, case={"tokens": each}).attempts for each in range(2, 40)]
    crowd = Results(sum(many, of_processes(noisy, times(1.02, noisy[::-1])).attempts))
    first = next(each for each in compare(crowd, OLD, NEW) if each.trial.case == {"tokens": 1})
    assert (first.verdict, first.low, first.high) == (Direction.AMBIGUOUS, alone.low, alone.high)
    assert first.p > alone.p


def test_text_names_everything_and_rows_are_plain():
    changes = compare(of_processes(STEADY, times(1.05)), OLD, NEW)
    assert "+5.00% [" in changes.text() and "SLOWER" in changes.text() and "n=5+5" in changes.text()
    unsure = compare(of_processes([100.0], [105.0], kernel="\x1b[31mred"), OLD, NEW).text()
    assert "~" in unsure and "n=1+1" in unsure and f"few: {EXPLAINED['few']}" in unsure
    assert "\x1b" not in unsure
    assert json.loads(json.dumps(changes.rows(), allow_nan=False))[0]["verdict"] == "SLOWER"


def test_a_side_that_is_not_there_is_named():
    results = of_processes(STEADY, STEADY)
    with pytest.raises(ValueError, match=r"no results of example 3.* there are: example 1"):
        compare(results, OLD, "example 3")
    with pytest.raises(ValueError, match="with itself: name two arms"):
        compare(results, OLD, Side(OLD, "a"))


@pytest.mark.parametrize("bad", [[], [math.nan], [100.0, math.inf], [0.0], [-1.0], ["100"], [True], None])
def test_what_is_no_time_never_enters(bad):
    results = of_processes(STEADY, STEADY)
    last = results.attempts[-1]
    worse = replace(last, time=last.time | {"samples_us": bad})
    change = one(Results((*results.attempts[:-1], worse)))
    assert change.processes == (5, 4)
    assert math.isfinite(change.ratio) and math.isfinite(change.low)


def test_a_side_without_a_time_says_how_it_ended():
    crashed = [
        replace(each, outcome=Outcome.CRASHED, reason="segfault_abort", time={})
        for each in of_processes([], STEADY)
    ]
    change = one(Results((*of_processes(STEADY, []).attempts, *crashed)))
    assert change.reasons == ("no time after", "after crashed")
    assert (change.verdict, change.ratio, change.more_needed) == (Direction.AMBIGUOUS, None, None)
