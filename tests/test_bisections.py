"""The table of bisections, from what the command prints."""

import json

import pytest

from workbench.pages.bisections import bisections


def probe(environment, answer):
    return {"environment": environment, "answer": answer, "why": f"{answer} (2 of 2 attempts)"}


def test_a_row_says_where_it_changed_and_who_was_asked(tmp_path):
    good, bad = probe("flashinfer 0.6.16", "good"), probe("<b>flashinfer 0.6.15.post1", "bad")
    found = {
        "kernel": "trtllm_attention", "case": {"batch": 16, "window": 127}, "mode": "graph", "until": "wrong",
        "last_good": good, "first_bad": bad, "unsure": ["0.6.15.post2"], "probes": [good, bad],
    }  # fmt: skip
    (tmp_path / "attention.json").write_text(json.dumps(found))
    shown = bisections(tmp_path)
    (row,) = shown.rows
    assert row[:5] == (
        "trtllm_attention", "batch=16, window=127", "graph", "wrong", "flashinfer 0.6.16: good (2 of 2 attempts)",
    )  # fmt: skip
    assert row[5].endswith("cannot tell: 0.6.15.post2")
    assert row[6] == "flashinfer 0.6.16 good; <b>flashinfer 0.6.15.post1 bad"
    assert "<b>" not in shown._repr_html_()


def test_a_problem_with_an_end_is_said(tmp_path):
    end = probe("flashinfer 0.6.7", "bad")
    found = {"kernel": "k", "good": end, "bad": end, "problem": "the good end is bad", "probes": [end]}
    (tmp_path / "k.json").write_text(json.dumps(found))
    assert "the good end is bad" in bisections(tmp_path).rows[0][5]


@pytest.mark.parametrize("text", ["{torn", "[]", '{"wall_s": 5}', None])
def test_what_is_no_bisection_is_passed_over(tmp_path, text):
    if text is not None:
        (tmp_path / "x.json").write_text(text)
    assert "bisect --json" in repr(bisections(tmp_path))


def test_a_bisection_of_odd_kinds_is_shown_as_far_as_it_goes(tmp_path):
    (tmp_path / "x.json").write_text('{"kernel": 1, "probes": 5, "case": 5}')
    assert bisections(tmp_path).rows == (("1", "", "", "", "-:", "-:", ""),)
