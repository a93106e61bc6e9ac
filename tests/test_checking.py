"""Which regressions a check runs again, together or alone, and in how many processes. Nothing is run."""

from types import SimpleNamespace

import pytest
from process_times import NEW, OLD
from test_verdict import (
    CRASH,
    FINE,
    TOGETHER,
    WRONG,
    again,
    both,
    in_run,
    judged,
    processes,
    slower_together,
    timed,
)

from workbench.checking import measuring


@pytest.fixture
def runs(monkeypatch):
    """Makes a verdict's runs: how many trials of both sides, and how many processes each."""

    def verified(attempts, policy=None, verify=measuring.verify):
        made = []
        monkeypatch.setattr(
            measuring, "measure", lambda asked, todo, **how: made.append((len(todo), how["generations"]))
        )
        planned = [SimpleNamespace(trial=trial) for trial in dict.fromkeys(each.trial for each in attempts)]
        verify(SimpleNamespace(planned=planned, generations=5), judged(attempts, policy))
        return sorted(made)

    return verified


def test_what_is_slower_and_what_fails_run_again_alone(runs):
    crashed = [each for tokens in (2, 3) for each in both(FINE, CRASH, case={"tokens": tokens})]
    assert runs([*timed(after=1.05), *crashed]) == [(2, 2), (2, 2), (2, 5)]


@pytest.mark.parametrize("stage", ["import", "find"])
def test_what_never_came_to_a_call_is_run_again_together(runs, stage):
    """A package that cannot be imported breaks every trial."""
    gone = [each for n in range(9) for each in both(FINE, "import_error", case={"tokens": n}, stage=stage)]
    assert runs([*gone, *both(FINE, WRONG, case={"tokens": 99})]) == [(2, 2), (18, 2)]


def test_a_rare_fault_is_run_again_in_as_many_processes_as_would_hardly_miss_it(runs):
    assert runs([*processes(OLD, *[FINE] * 15), *processes(NEW, *[WRONG] * 4, *[FINE] * 11)]) == [(2, 10)]
    assert runs([*processes(OLD, *[FINE] * 90), *processes(NEW, *[WRONG] * 4, *[FINE] * 86)]) == [(2, 12)]


@pytest.fixture
def together(runs):
    return lambda attempts, policy=TOGETHER: runs(attempts, policy, measuring.verify_together)


def test_what_is_slower_only_together_is_run_again_together_in_as_many_processes(together):
    found = slower_together(1.02, 1.04, 1.03)
    assert together(found) == [(6, 5)]
    assert together([*found, *timed(case={"tokens": 9}, after=1.02, n=12)]) == [(2, 12), (6, 5)]


def test_what_was_run_again_or_is_slower_alone_is_not_run_again_together(together, runs):
    found = slower_together(1.02, 1.04, 1.03)
    for factor in (1.0, 1.03):
        assert together([*found, *again(slower_together(*[factor] * 3))]) == []
    assert runs(found, TOGETHER) == []
    assert together([*found, *timed(case={"tokens": 9}, after=1.2)]) == []
    assert together(slower_together(1.0, 1.0)) == []


def test_what_did_not_come_again_together_is_open_and_measured_anew():
    found = [*slower_together(1.02, 1.04), *again(slower_together(1.0, 1.0))]
    planned = [SimpleNamespace(trial=trial) for trial in dict.fromkeys(each.trial for each in found)]
    asked = SimpleNamespace(planned=planned, judge=lambda results: judged(results, TOGETHER))
    assert len(measuring.open_pairs(asked, found)) == 4
    assert not measuring.open_pairs(asked, slower_together(1.02, 1.04))
    assert not measuring.open_pairs(asked, [*found, *in_run(slower_together(1.0, 1.0), "run 3")])
