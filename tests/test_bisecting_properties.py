"""What holds of both searches whatever the truth is: monotone or not, with unknowns, and of flaky answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.bisecting import ordered, subset
from workbench.bisecting.answer import Answer
from workbench.bisecting.deciding import decided

GOOD, BAD, UNKNOWN = Answer.GOOD, Answer.BAD, Answer.UNKNOWN
TRUTHS = st.lists(st.sampled_from(list(Answer)), max_size=60).map(lambda inner: [GOOD, *inner, BAD])
NAMES = "abcdefghijkl"


def recorded(answer):
    """The answers as asked, and who was asked."""
    asked = []

    def ask(what):
        asked.append(what)
        return answer(what)

    return ask, asked


def search(truth):
    ask, asked = recorded(lambda place: truth[place])
    return ordered.find_boundary(len(truth), ask), asked


@given(st.integers(0, 200), st.integers(0, 200))
def test_the_first_bad_one_is_found_by_halves(goods, bads):
    truth = [GOOD] * (goods + 1) + [BAD] * (bads + 1)
    found, asked = search(truth)
    assert (found.good, found.bad, found.between) == (goods, goods + 1, ())
    assert len(asked) <= ordered.most_probes(len(truth))


@given(TRUTHS)
def test_good_to_bad_is_found_whatever_lies_around_it(truth):
    found, asked = search(truth)
    assert truth[found.good] == GOOD and truth[found.bad] == BAD and found.good < found.bad
    assert found.between == tuple(range(found.good + 1, found.bad))
    assert all(truth[place] == UNKNOWN and place in asked for place in found.between)
    assert len(asked) == len(set(asked)) and not {0, len(truth) - 1} & set(asked)


@given(st.integers(1, 100), st.integers(1, 100), st.sets(st.integers(1, 199), max_size=40))
def test_of_monotone_truth_with_unknowns_the_edge_lies_within_what_is_told(goods, bads, unknown):
    truth = [UNKNOWN if 0 < place < goods + bads - 1 and place in unknown else GOOD if place < goods else BAD
             for place in range(goods + bads)]  # fmt: skip
    found, asked = search(truth)
    assert found.good < goods <= found.bad
    if truth[goods - 1] == GOOD and truth[goods] == BAD:
        assert (found.good, found.bad) == (goods - 1, goods)
    wasted = sum(truth[place] == UNKNOWN for place in asked)
    assert len(asked) - wasted <= (wasted + 1) * ordered.most_probes(len(truth))


def test_a_block_that_cannot_be_told_is_not_walked_through():
    truth = [GOOD] * 20 + [UNKNOWN] * 60 + [GOOD] * 15 + [BAD] * 20
    found, asked = search(truth)
    assert (found.good, found.bad) == (94, 95)
    assert len(asked) < 15


def delta(items, answer):
    ask, asked = recorded(answer)
    return subset.find_culprits(items, ask), asked


@given(st.sets(st.sampled_from(NAMES), min_size=1).flatmap(
    lambda all_of: st.tuples(st.just(sorted(all_of)), st.sets(st.sampled_from(sorted(all_of)), min_size=1))
))  # fmt: skip
def test_the_packages_that_do_it_together_are_found(sets):
    items, culprits = sets
    found, asked = delta(items, lambda some: BAD if culprits <= some else GOOD)
    assert set(found.together) == culprits and not found.unsure
    assert len(asked) == len(set(asked)) and frozenset() not in asked and frozenset(items) not in asked
    if len(culprits) == 1:
        assert len(asked) <= subset.most_probes(len(items))


@given(st.dictionaries(st.frozensets(st.sampled_from("abcdef")), st.sampled_from(list(Answer))))
def test_what_is_found_is_bad_and_can_spare_nothing_that_was_told(truth):
    truth = {**truth, frozenset(): GOOD, frozenset("abcdef"): BAD}
    found, asked = delta("abcdef", lambda some: truth.get(some, UNKNOWN))
    left = frozenset(found.together)
    assert left and truth[left] == BAD
    for each in left:
        without = truth.get(left - {each}, UNKNOWN)
        assert without == (UNKNOWN if each in found.unsure else GOOD)
    assert len(asked) == len(set(asked))


@given(st.sampled_from(NAMES), st.sets(st.frozensets(st.sampled_from(NAMES), min_size=1), max_size=60))
def test_a_culprit_stays_among_those_named_where_mixtures_cannot_be_built(culprit, broken):
    truth = {some: UNKNOWN for some in broken}
    found, _ = delta(NAMES, lambda some: truth.get(some, BAD if culprit in some else GOOD))
    assert culprit in found.together
    assert len(found.together) == 1 or set(found.together) - {culprit} <= set(found.unsure)


ANSWERS = st.lists(st.sampled_from(list(Answer)), max_size=12)


@given(ANSWERS, st.integers(1, 5))
def test_what_was_bad_once_is_never_called_good(answers, repeats):
    if BAD in answers:
        assert decided(answers, repeats) != GOOD


@given(ANSWERS, st.integers(1, 5))
def test_it_is_decided_after_twice_the_repeats_at_most(answers, repeats):
    told = decided(answers, repeats)
    assert (told is None) == (
        len(answers) < repeats or (len(set(answers)) > 1 and len(answers) < 2 * repeats)
    )


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([GOOD], None),
        ([GOOD, GOOD], GOOD),
        ([BAD, BAD], BAD),
        ([UNKNOWN, UNKNOWN], UNKNOWN),
        ([GOOD, BAD], None),
        ([GOOD, BAD, BAD], None),
        ([GOOD, BAD, BAD, BAD], BAD),
        ([GOOD, BAD, GOOD, GOOD], UNKNOWN),
        ([GOOD, BAD, GOOD, BAD], UNKNOWN),
        ([UNKNOWN, GOOD, GOOD, GOOD], GOOD),
    ],
)
def test_attempts_that_differ_are_repeated(answers, told):
    assert decided(answers, 2) == told
