"""The order of what was made, with clocks that are set back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from workbench import order
from workbench.cluster.submission import FOLDER, new_id
from workbench.results import Outcome, Result, Trial

TRIAL = Trial("k", {}, "eager", "e", "cpu")
RUN, SECOND = "%Y%m%dT%H%M%SZ", timedelta(seconds=1)


@given(some.lists(some.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), max_size=30))
def test_attempts_are_in_the_order_in_which_they_were_made_whatever_the_clock_said(clock):
    newest = ""
    for said in clock:
        now = f"{said:%Y-%m-%dT%H:%M:%SZ}"
        after = order.after(newest, now)
        made = Result(TRIAL, "r", Outcome.OK, "ok", provenance={"started": now, "after": after})
        assert made.when >= newest and made.when == (after or now)
        newest = made.when


@pytest.mark.parametrize("said", [7, None, "zzzz", ["2026"], "2026-01-01\n", "2026-01-01T00:00:00Z+1"])
def test_what_is_no_time_is_in_no_order(said):
    for name in ("started", "after"):
        assert Result(TRIAL, "r", Outcome.OK, "ok", provenance={name: said}).when == ""


def test_a_name_comes_after_those_before_it():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    for names, later in [
        ([], "20260102T000000Z"),
        (["20260101T000000Z", "r1", ""], "20260102T000000Z"),
        (["20270101T235959Z", "20260101T000000Z"], "20270102T000000Z"),
        (["99991231T235959Z"], "20260102T000000Z"),  # there is none after it
    ]:
        assert f"{order.later(now, names, RUN, SECOND):{RUN}}" == later


def test_the_newest_submission_is_the_last_that_was_made(tmp_path):
    for before in ("20990101T000000Z-999abcd", "someone's"):
        (tmp_path / FOLDER / before).mkdir(parents=True)
    made = []
    for _ in range(3):
        made.append(new_id(tmp_path))
        (tmp_path / FOLDER / made[-1]).mkdir()
    assert made == sorted(made) and made[0].startswith("20990101T000001Z-000")
