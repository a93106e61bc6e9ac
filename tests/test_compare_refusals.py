"""What forbids a ratio, what keeps one from deciding, and what is said beside the word."""

import math

import pytest
from process_times import NEW, OLD, STEADY, attempt, of_processes, one, times

from workbench.comparison import QUICK, Direction, Side, compare
from workbench.comparison.estimate import Estimate
from workbench.results import Results


def apart(before, after):
    """Five steady processes a side, each side with facts of its own."""
    return Results(
        tuple(attempt(OLD, time_us, place, **before) for place, time_us in enumerate(STEADY))
        + tuple(attempt(NEW, 1.05 * time_us, place, **after) for place, time_us in enumerate(STEADY))
    )


def environment(mark):
    return {"provenance": {"environment": {"hash": mark}, "gpu": {"uuid_hash": "c0ffee"}}}


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ({"run": "run 1"}, {"run": "run 2"}, "different runs"),
        ({"card": "a"}, {"card": "b"}, "different cards"),
        ({"card": ""}, {"card": ""}, "card unknown"),
        ({"run": ""}, {"run": ""}, "run unknown"),
        ({"inputs_hash": "a"}, {"inputs_hash": "b"}, "other inputs"),
        ({"kernel_hash": "a"}, {"kernel_hash": "b"}, "other kernel file"),
        ({"time": {"timer": "cupti"}}, {}, "other timer"),
        ({"time": {"l2": "warm"}}, {}, "other cache state"),
    ],
)
def test_no_ratio(before, after, reason):
    change = one(apart(before, after))
    assert change.verdict == Direction.AMBIGUOUS
    assert change.ratio is change.low is change.high is change.more_needed is None
    assert reason in change.reasons


def test_an_environment_made_anew_within_a_run_is_not_one_side():
    mixed = [*of_processes(STEADY, times(1.05)), attempt(NEW, 105.0, 9, **environment("another"))]
    assert one(Results(tuple(mixed))).reasons[0] == "environment changed"


def test_each_run_and_card_has_its_own_ratio():
    runs = [
        of_processes(STEADY, times(factor), run=run).attempts for factor, run in ((1.05, "1"), (0.95, "2"))
    ]
    changes = list(compare(Results(sum(runs, ())), OLD, NEW))
    assert [(each.run, each.verdict) for each in changes] == [("1", "SLOWER"), ("2", "FASTER")]


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ({"clocks": {"sm_mhz": 1980}}, {"clocks": {"sm_mhz": 1895}}, "clocks"),
        ({"anchor_us": 170.0}, {"anchor_us": 178.0}, "anchor"),
        ({"timer": "host_clock"}, {"timer": "host_clock"}, "host timer"),
        ({"timer": "cuda_events"}, {"timer": "cuda_events"}, "host timer"),
    ],
)
def test_a_ratio_that_does_not_decide(before, after, reason):
    change = one(apart({"time": before}, {"time": after}))
    assert (change.verdict, change.reasons) == (Direction.AMBIGUOUS, (reason,))
    assert change.ratio == pytest.approx(1.05)
    assert change.more_needed is None


@pytest.mark.parametrize(
    "before, after, said",
    [
        ((1980, 1780, 1980, 1800, 1980, 1790), (1980, 1970, 1800, 1980, 1960, 1980), False),
        ((1980, 1960, 1975, 1980, 1970, 1965), (1900, 1890, 1905, 1895, 1900, 1890), True),
    ],
)
def test_clocks_are_apart_where_they_are_by_more_than_their_own_noise(before, after, said):
    sides = [
        attempt(environment, factor * 100.0, place, time={"clocks": {"sm_mhz": mhz}})
        for environment, factor, clocks in ((OLD, 1.0, before), (NEW, 1.05, after))
        for place, mhz in enumerate(clocks)
    ]
    change = one(Results(tuple(sides)))
    assert ("clocks" in change.reasons) is said
    assert change.verdict == (Direction.AMBIGUOUS if said else Direction.SLOWER)


@pytest.mark.parametrize(
    "factor, before, after, word",
    [
        # As measured for triton_kernels 0.4.5 and 0.4.8: under a power limit the faster kernel has the lower clock.
        (1.176, 1865, 1965, Direction.SLOWER),
        (1 / 1.176, 1965, 1865, Direction.FASTER),
        (1.10, 1980, 1880, Direction.SLOWER),  # 5 % of it may be the clock's
        (1.055, 1980, 1880, Direction.AMBIGUOUS),  # all of it may be
        (1.0, 1980, 1880, Direction.AMBIGUOUS),  # a faster kernel may be hidden
        (1.0, 1980, 1979, Direction.SAME),
    ],
)
def test_clocks_explain_as_much_as_they_are_apart(factor, before, after, word):
    change = one(
        Results(
            tuple(
                attempt(environment, time_us, place, time={"clocks": {"sm_mhz": mhz}})
                for environment, time_us, mhz in ((OLD, 400.0, before), (NEW, 400.0 * factor, after))
                for place in range(5)
            )
        )
    )
    assert change.verdict == word
    assert change.p is None or word != Direction.AMBIGUOUS


@pytest.mark.parametrize(
    "factor, before, after, word",
    [
        (1.08, 1980, 1940, Direction.AMBIGUOUS),  # read once, 2 % apart: it may have been 8
        (1.08, 1940, 1980, Direction.SLOWER),  # the slower one had the higher clock
        (0.92, 1980, 2010, Direction.AMBIGUOUS),
        (0.92, 2010, 1980, Direction.FASTER),
        (1.0, 1980, 1940, Direction.AMBIGUOUS),
    ],
)
def test_clocks_that_were_read_once_may_explain_all_on_their_side(factor, before, after, word):
    sides = (attempt(OLD, 400.0, time={"clocks": {"sm_mhz": before}}),
             attempt(NEW, 400.0 * factor, time={"clocks": {"sm_mhz": after}}))  # fmt: skip
    change = one(Results(sides), QUICK)
    assert change.verdict == word and "clocks" in change.reasons


@pytest.mark.parametrize("sm_mhz", [1980, 1940])
def test_memory_clocks_explain_too(sm_mhz):
    before = {"clocks": {"sm_mhz": 1980, "memory_mhz": 3201}}
    after = {"clocks": {"sm_mhz": sm_mhz, "memory_mhz": 2900}}
    change = one(apart({"time": before}, {"time": after}))
    assert (change.verdict, change.more_needed) == (Direction.AMBIGUOUS, None)
    assert "memory clocks" in change.reasons


@pytest.mark.parametrize(
    "log_ratio, shifts, nearest, farthest",
    [
        (0.2, [], 0.2, 0.2),
        (0.2, [0.05], 0.15, 0.2),
        (0.2, [-0.05], 0.2, 0.25),
        (0.2, [0.05, -0.03], 0.15, 0.23),
        (0.02, [0.05], 0.0, -0.03),
        (-0.2, [-0.05], -0.15, -0.2),
        (0.2, [math.inf], 0.0, -math.inf),
        (0.2, [-math.inf], 0.2, math.inf),
        (-0.2, [math.inf, -math.inf], 0.0, -math.inf),
    ],
)
def test_what_is_left_of_a_difference(log_ratio, shifts, nearest, farthest):
    found = Estimate(log_ratio, 0.01, 8.0, 0.01, False, (5, 5)).without(shifts)
    assert [each.log_ratio for each in found] == pytest.approx([nearest, farthest])


@pytest.mark.parametrize(
    "before, after, reason",
    [
        ({"kernels": ["gemm_a"]}, {"kernels": ["gemm_b"]}, "another kernel ran"),
        ({"clocks": {"sm_mhz": 1980, "throttle": ["sw_power_cap"]}}, {}, "throttled"),
        ({"clocks": {}}, {}, "clocks unknown"),
        ({"clocks": {"sm_mhz": 1980}}, {"clocks": {"sm_mhz": 1950}}, "clocks"),
        ({"clocks": {"sm_mhz": 1850}}, {"clocks": {"sm_mhz": 1965}}, "clocks"),
        ({"anchor_us": 170.0}, {"anchor_us": 173.0}, "anchor"),
        ({"anchor_us": 178.0}, {"anchor_us": 170.0}, "anchor"),
    ],
)
def test_what_is_said_beside_the_word(before, after, reason):
    change = one(apart({"time": before}, {"time": after}))
    assert (change.verdict, change.reasons) == (Direction.SLOWER, (reason,))


def test_small_shifts_of_clock_and_anchor_are_no_matter():
    assert one(apart({"time": {"anchor_us": 170.0}}, {"time": {"anchor_us": 171.0}})).reasons == ()
    changes = compare(apart({"time": {"anchor_us": 170.0}}, {"time": {"anchor_us": 171.7}}), OLD, NEW)
    assert "range 1.00%" in changes.text()


@pytest.mark.parametrize("graph_us, decides", [(195.0, True), (100.0, False)])
def test_events_decide_where_a_graph_shows_that_the_host_did_not_wait(graph_us, decides):
    events = of_processes(times(2.0), times(2.1), mode="eager", time={"timer": "cuda_events"})
    ratio = graph_us / 200
    graph = of_processes(times(2 * ratio), times(2.1 * ratio), mode="graph")
    eager = next(each for each in compare(Results(events.attempts + graph.attempts), OLD, NEW)
                 if each.trial.mode == "eager")  # fmt: skip
    assert (eager.verdict == Direction.SLOWER) == decides


def test_events_of_long_calls_decide_alone():
    long = of_processes(times(50.0), times(52.5), mode="eager", time={"timer": "cuda_events"})
    assert one(long).verdict == Direction.SLOWER


def with_aa(noise, factor, own=True):
    """A run whose second arm of the old environment is `noise` times as slow as the first."""
    case = {"tokens": 1 if own else 2}
    arms = [attempt(OLD, noise * time_us, place, arm="b", case=case) for place, time_us in enumerate(STEADY)]
    firsts = [] if own else [attempt(OLD, time_us, place, case=case) for place, time_us in enumerate(STEADY)]
    return Results((*apart({}, {}).attempts[:5], *of_processes([], times(factor)).attempts, *firsts, *arms))


def test_the_floor_is_three_times_what_equal_environments_differ_by():
    results = with_aa(1.01, 1.02)
    change = one(results)
    assert change.limit == pytest.approx(0.0303, abs=1e-4)
    assert (change.verdict, change.reasons) == (Direction.SAME, ("floor", "unbalanced"))
    assert "floor 3.03%" in compare(results, OLD, NEW).text()
    elsewhere = next(
        each for each in compare(with_aa(1.01, 1.02, own=False), OLD, NEW) if each.processes == (5, 5)
    )
    assert elsewhere.limit == pytest.approx(0.0303, abs=1e-4)


def test_a_run_too_noisy_for_any_word():
    change = one(with_aa(1.03, 1.2))
    assert (change.verdict, change.more_needed) == (Direction.AMBIGUOUS, None)
    assert "floor too high" in change.reasons


def test_an_environment_beside_itself_is_not_judged_by_its_own_difference():
    change = one(with_aa(1.001, 1.0), before=Side(OLD, "a"), after=Side(OLD, "b"))
    assert (change.verdict, change.limit) == (Direction.SAME, 0.01)
