"""The tables of timers, from a made-up file: what each is off by, and what is said where it has no figure."""

import json

import pytest

from workbench.pages import stopwatches

CLOCK = stopwatches.CLOCK
FAILS = {"triton do_bench": "it raised"}
ROWS = [
    {"call": "<b>spin</b> 10", CLOCK: 10.0, "ours": 10.7, "ours: events": 13.5, "ncu": 11.6, **FAILS},
    {"call": "spin 1000", CLOCK: 1000.0, "ours": 1000.7, "ours: events": 1003.5, "ncu": 1001.6, **FAILS},
    {"call": "copy", "ours": 100.0, "ours: events": 104.0, "ncu": "no kernel", **FAILS},
    {"call": "add", "ours": 5.0, "ours: events": 8.0, "ncu": 4.9, **FAILS},
]
READERS = [
    {"reader": "torch profiler", "first_ms": 1200.0},
    {"reader": "torch profiler", "call": "<b>spin</b> 10", "span_us": 10.7, "ms_a_sample": 0.1,
     "ms_a_sample_recorded": 0.4, "events_us": 13.5, "events_us_recorded": 13.4},
    {"reader": "torch profiler", "call": "add", "lost": "3 of 100 calls in the records"},
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    place = tmp_path / "truth.json"
    place.write_text(json.dumps({"gpu": "G", "date": "D", "rows": ROWS, "readers": READERS}))
    return place


def test_every_timer_has_its_column_and_its_words_stand_below(file):
    shown = stopwatches.truth(file)
    assert shown.heads == ("call", CLOCK, *stopwatches.READS)
    assert "10.7" in repr(shown) and "<b>" not in shown._repr_html_()
    assert shown.note == "No figure: triton do_bench, all calls: it raised; ncu, copy: no kernel."


def test_who_is_off_is_told_against_the_clock_and_against_ours(file):
    told = {row[0]: row[1:4] for row in stopwatches.off(file).rows}
    assert told["ours"] == ("0.70", "1000 us", "-")
    assert told["ours: events"] == ("3.50", "1000 us", "+4.0 % to +60.0 %")
    assert told["ncu"] == ("1.60", "1000 us", "-2.0 %")
    assert told["triton do_bench"] == told["cupti-python"] == ("-", "-", "-")


def test_a_reader_of_records_is_told_with_what_it_costs(file):
    (row,) = stopwatches.readers(file).rows
    assert row == ("torch profiler", "2", "1", "0.70", "1200", "0.1", "0.4", "-0.10, -0.10")


@pytest.mark.parametrize(
    "text", ["{torn", "[]", '{"rows": 5}', '{"rows": [7, {"call": 7, "ours": true}]}', None]
)
def test_a_file_that_is_not_that_shows_nothing_and_says_how_to_get_one(tmp_path, text):
    file = tmp_path / "t.json"
    if text is not None:
        file.write_text(text)
    assert "benchmarks.truth" in repr(stopwatches.readers(file))
    if "call" not in (text or ""):
        assert "benchmarks.truth" in repr(stopwatches.truth(file)) and "benchmarks.truth" in repr(
            stopwatches.off(file)
        )
    assert stopwatches.off(file)._repr_html_()


def test_a_call_that_is_no_text_is_no_error(tmp_path):
    file = tmp_path / "truth.json"
    file.write_text('{"rows": [{"call": [1]}], "readers": [{"reader": "x", "call": [1]}]}')
    assert len(stopwatches.readers(file).rows) == 1
