"""Which regressions a check runs again, together or alone, and in how many processes. Nothing is run."""

from types import SimpleNamespace

import pytest
from process_times import NEW, OLD
from test_verdict import CRASH, FINE, WRONG, both, judged, processes, timed

from workbench.checking import measuring


@pytest.fixture
def runs(monkeypatch):
    """Makes a verdict's runs: how many trials of both sides, and how many processes each."""

    def verified(attempts):
        made = []
        monkeypatch.setattr(
            measuring, "measure", lambda asked, todo, **how: made.append((len(todo), how["generations"]))
        )
        planned = [SimpleNamespace(trial=trial) for trial in dict.fromkeys(each.trial for each in attempts)]
        measuring.verify(SimpleNamespace(planned=planned, generations=5), judged(attempts))
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
