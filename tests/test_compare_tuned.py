"""Tuned rows: a tuning is a matter of chance, and a word on one rests on several of each side."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from process_times import NEW, OLD, attempt, of_processes, one

from workbench.comparison import DEFAULT, QUICK, THOROUGH, Direction, compare
from workbench.comparison.tunings import Equal, at_equal
from workbench.results import Results

FAST, SLOW = 610.0, 770.0  # two tunings of one version on one idle H200
MOVED = (Direction.FASTER, Direction.SLOWER)
RULES = (QUICK, DEFAULT, THOROUGH)


def tuned(environment, times_us, chosen=None):
    """A process for each time; `chosen` are tactics, by default one for each different time."""
    return [
        attempt(
            environment, time_us, generation, mode="graph+tuned",
            time={"tuning": {"chosen": {"a::gemm1": f"Runner {tactic}", "a::gemm2": "Runner 1"}}},
        )
        for generation, (time_us, tactic) in enumerate(zip(times_us, chosen or map(int, times_us), strict=True), 1)
    ]  # fmt: skip


def sides(before, after, chosen=(None, None)):
    return Results((*tuned(OLD, before, chosen[0]), *tuned(NEW, after, chosen[1])))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("before, after", [([FAST], [SLOW]), ([SLOW], [FAST]), ([FAST] * 3, [SLOW] * 3)])
def test_one_to_three_tunings_a_side_say_nothing(rule, before, after):
    change = one(sides(before, after), rule)
    assert change.verdict == Direction.AMBIGUOUS
    assert "few" in change.reasons and change.more_needed >= 1
    assert change.processes == (len(before), len(after))


levels = st.lists(st.sampled_from([FAST, SLOW]), min_size=1, max_size=3)


@settings(deadline=None)
@given(levels, levels, st.sampled_from(RULES))
def test_few_tunings_never_make_a_word(before, after, rule):
    assert one(sides(before, after), rule).verdict == Direction.AMBIGUOUS


@settings(deadline=None)
@given(st.permutations([FAST, FAST, SLOW, SLOW]), st.permutations([FAST, FAST, SLOW, SLOW]))
def test_equal_lotteries_are_never_told_apart(before, after):
    assert one(sides(before, after)).verdict not in MOVED


@pytest.mark.parametrize("count", [4, 5, 8])
def test_a_lottery_that_both_versions_share_is_seldom_called_a_change(count):
    """At most 5 % of comparisons, whatever the odds: 200 for each of three odds."""
    for odds in (0.2, 0.5, 0.8):
        chosen = random.Random(f"{count} {odds}")
        drawn = [_drawn(chosen, count, odds) for _ in range(200)]
        assert sum(one(each).verdict in MOVED for each in drawn) <= 14, odds


def _drawn(chosen, count, odds):
    times = [
        [chosen.gauss(SLOW if chosen.random() < odds else FAST, 1.0) for _ in range(count)] for _ in range(2)
    ]
    return sides(*times, chosen=[["any"] * count] * 2)


def test_a_version_whose_every_tuning_is_slower_is_told():
    change = one(sides([600.0, 605.0, 610.0, 604.0], [770.0, 775.0, 768.0, 772.0]))
    assert change.verdict == Direction.SLOWER
    assert "other tactics" in change.reasons, "and that no tactic was common is said beside the word"


def test_the_tactics_stand_in_the_row_with_their_number_and_spread():
    change = one(sides([FAST, FAST, SLOW, FAST], [FAST, SLOW, SLOW, SLOW]))
    assert "tactics vary" in change.reasons
    assert [len(side) for side in change.tuned] == [4, 4]
    assert change.tuned[0][0].tactic == "gemm1 Runner 610, gemm2 Runner 1"
    shown = compare(sides([FAST, FAST, SLOW, FAST], [FAST, SLOW, SLOW, SLOW]), OLD, NEW).text()
    assert "before  4 tunings, 26.2% apart: gemm1 Runner 610, gemm2 Runner 1 (3, 610 us)" in shown
    assert "after   4 tunings, 26.2% apart: gemm1 Runner 770, gemm2 Runner 1 (3, 770 us)" in shown


def test_at_an_equal_tactic_the_versions_alone_differ():
    change = one(sides([FAST, 800.0], [616.1, 800.0, FAST * 0.99], chosen=([1, 2], [1, 3, 1])))
    (equal,) = at_equal(change.tuned)
    assert (equal.tactic, equal.counts) == ("gemm1 Runner 1, gemm2 Runner 1", (1, 2))
    assert equal.ratio == pytest.approx(1.0, abs=1e-3)
    assert isinstance(equal, Equal)


def test_a_mode_that_is_not_tuned_has_no_tunings():
    changes = compare(of_processes([100.0] * 4, [100.0] * 4), OLD, NEW)
    assert next(iter(changes)).tuned == ((), ())
    assert "tuning" not in changes.text()


@pytest.mark.parametrize("tuning", [None, 7, {}, {"chosen": None}, {"chosen": []}, {"chosen": {}}])
def test_a_row_whose_choice_is_not_readable_has_none(tuning):
    results = [attempt(each, 100.0, 1, mode="graph+tuned", time={"tuning": tuning}) for each in (OLD, NEW)]
    assert one(Results(tuple(results))).tuned == ((), ())


def test_what_was_chosen_is_a_text_of_others_and_is_shown_plain():
    hostile = sides([FAST], [FAST], chosen=(["\x1b[31m<b>"], ["x" * 500]))
    change = one(hostile)
    assert "\x1b" not in change.tuned[0][0].tactic
    assert len(change.tuned[1][0].tactic) <= 130
