"""The table of planted changes, from made-up attempts: what is named, what came again, and what is no pair."""

from workbench.pages.proved import proved
from workbench.results import Outcome, Result, Results, Trial
from workbench.store import load, save

BASE = "flashinfer 0.6.11.post1 (wheel)"
WRONG, REPACK = (f"flashinfer 0.6.11.post1+{name} (wheel)" for name in ("wrong", "repack"))


def attempt(environment, batch, outcome=Outcome.OK, rerun="", time_us=0.0, generation=1):
    times = {"timer": "cupti", "samples_us": [time_us] * 30, "clocks": {"sm_mhz": 1980}} if time_us else {}
    gpu = {"gpu": {"uuid_hash": "c", "sm": "9.0"}}
    return Result(
        Trial("attention", {"batch": batch}, "graph", environment, "made-up GPU"), "run", outcome, str(outcome),
        rerun=rerun, attempt=1, generation=generation, visit=1, provenance=gpu, time=times,
    )  # fmt: skip


def test_what_is_named_is_shown_with_whether_it_came_again():
    found = [attempt(BASE, 16), attempt(WRONG, 16, Outcome.WRONG), attempt(BASE, 64), attempt(WRONG, 64)]
    found += [attempt(BASE, 16, rerun="verified"), attempt(WRONG, 16, Outcome.WRONG, rerun="verified")]
    (row,) = proved(Results(tuple(found))).rows
    assert row[:3] == (WRONG, "run", "HOLD") and row[4] == "came again"
    assert "batch=16: broken: newly wrong" in row[3] and "batch=64" not in row[3]
    assert row[5] == "1 undecided"  # it was never timed


def test_nothing_is_named_where_nothing_is_worse():
    found = [
        attempt(side, 64, time_us=80 + generation / 50, generation=generation)
        for generation in range(1, 6)
        for side in (BASE, REPACK)
    ]
    results = Results(tuple(found))
    row, again = proved(results, results).rows  # two sittings
    assert row == again == (REPACK, "run", "BUMP", "nothing", "-", "1 same")


def test_without_the_version_it_was_made_from_there_is_no_row():
    assert "planted_checks.py" in repr(proved(Results((attempt(WRONG, 16, Outcome.WRONG),))))
    plus = "flashinfer 0.6.8 + triton_kernels 0.4.2"
    assert not proved(Results((attempt(BASE, 16), attempt(plus, 16)))).rows


def test_no_other_page_reads_them(tmp_path):
    save(attempt(WRONG, 16, Outcome.WRONG), tmp_path / "planted" / "gpu" / "one.jsonl")
    assert not len(load(tmp_path)) and len(load(tmp_path / "planted")) == 1
