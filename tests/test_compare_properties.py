"""What holds of a comparison whatever the times are."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from process_times import of_processes, one, times

from workbench.comparison import DEFAULT, Direction
from workbench.comparison.estimate import holm
from workbench.results import Results

TIMES = st.lists(st.floats(90, 110), min_size=1, max_size=8)
NEAR = st.lists(st.floats(99.2, 100.8), min_size=3, max_size=8)
SWAPPED = {Direction.FASTER: Direction.SLOWER, Direction.SLOWER: Direction.FASTER}


@settings(deadline=None)  # scipy is imported by the first
@given(TIMES, TIMES)
def test_swapped_sides_give_the_inverse_ratio_and_the_swapped_word(before, after):
    there, back = one(of_processes(before, after)), one(of_processes(after, before))
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert back.verdict == SWAPPED.get(there.verdict, there.verdict)
    if there.low is not None:
        assert (there.low, there.high) == pytest.approx((1 / back.high, 1 / back.low))


@settings(deadline=None)
@given(TIMES, TIMES, st.sampled_from([1000.0, 7.0]))
def test_a_unit_changes_nothing(before, after, factor):
    plain, scaled = (one(of_processes(times(by, before), times(by, after))) for by in (1.0, factor))
    assert scaled.verdict == plain.verdict
    assert scaled.ratio == pytest.approx(plain.ratio)
    assert scaled.processes == plain.processes


@settings(deadline=None)
@given(TIMES, TIMES, st.randoms(use_true_random=False))
def test_the_order_of_attempts_is_irrelevant(before, after, chosen):
    results = of_processes(before, after)
    shuffled = list(results.attempts)
    chosen.shuffle(shuffled)
    assert one(Results(tuple(shuffled))) == one(results)
    assert one(Results(results.attempts * 2)) == one(results), "lines read twice are no more processes"


@settings(deadline=None, max_examples=200)
@given(NEAR, NEAR, st.integers(0, 7), st.booleans())
def test_one_more_identical_process_never_makes_a_difference_of_the_same(before, after, again, both):
    if one(of_processes(before, after)).verdict != Direction.SAME:
        return
    more = [*after, after[again % len(after)]]
    first = [*before, before[again % len(before)]] if both else before
    assert one(of_processes(first, more)).verdict in (Direction.SAME, Direction.AMBIGUOUS)


@settings(deadline=None)
@given(TIMES, TIMES)
def test_every_word_keeps_to_the_rule(before, after):
    change = one(of_processes(before, after))
    away = abs(math.log(change.ratio))
    if change.verdict == Direction.SAME:
        assert 1 / (1 + change.limit) < change.low <= change.ratio <= change.high < 1 + change.limit
    elif change.verdict != Direction.AMBIGUOUS:
        assert not change.low <= 1 <= change.high
        assert away >= math.log1p(change.limit)
    assert (change.verdict == Direction.AMBIGUOUS) == (change.more_needed != 0)
    assert min(change.processes) >= DEFAULT.fewest or change.verdict == Direction.AMBIGUOUS


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_raises_every_chance_and_keeps_their_order(chances):
    adjusted = holm(chances)
    assert all(0 <= plain <= raised <= 1 for plain, raised in zip(chances, adjusted, strict=True))
    ranked = [raised for _, raised in sorted(zip(chances, adjusted, strict=True))]
    assert ranked == sorted(ranked)
