import re
from typing import Any

import example_results as examples
import pytest

from workbench import known_issues, reported
from workbench.pages import elsewhere
from workbench.results import Result, Results
from workbench.showing.cells import links
from workbench.showing.legend import LEGEND

ISSUE = {
    "id": "KI-900", "component": "example", "packages": {"example-kernels": ">=2"}, "precise": True,
    "kernels": ["example_moe"], "functions": [], "sm": [90], "reasons": ["wrong_numbers"], "what": "<b>zeros</b>",
    "state": "open", "last_good": None, "fixed_in": None, "workaround": None,
    "sources": ["example/kernels#12"], "confidence": "high",
}  # fmt: skip


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch):
    def put(**facts: Any) -> None:
        monkeypatch.setattr(known_issues, "load", lambda: [known_issues._issue(ISSUE | facts)])

    put()
    return put


def ran(*reasons: str, environment: str = examples.NEW, kernel: str = "example_moe", **facts: Any) -> Results:
    trials = (
        examples.one(kernel, {"tokens": place}, environment, reason, **facts)
        for place, reason in enumerate(reasons)
    )
    return Results(tuple(trials))


@pytest.mark.parametrize(
    ("reasons", "facts", "said"),
    [
        (
            ["ok", "wrong_numbers", "ok"],
            {},
            "agrees: 1 of 3 trials that ran ended as wrong_numbers (2 ok, 1 wrong)",
        ),
        (["ok", "ok"], {}, "contradicts: none of 2 trials that ran ended as wrong_numbers (2 ok)"),
        (["ok", "ok"], {"precise": False}, "not seen: none of 2 trials that ran"),
        (["ok"], {"reasons": ["api_changed"]}, "not seen: none of 1 trial that ran"),
        (["not_run", "missing_cubin"], {}, "not measured: none of its 2 trials ran"),
        (["not_run", "ok"], {}, "contradicts: none of 1 trial that ran"),
        (["ok"], {"reasons": ["slower"]}, "not decided: 1 trial ran; only a comparison can tell slower"),
        (
            ["missing_cubin"],
            {"reasons": ["missing_cubin"]},
            "agrees: 1 of 1 trial that ran ended as missing_cubin",
        ),
    ],
)
def test_what_was_measured_answers_a_report(report, reasons, facts, said) -> None:
    report(**facts)
    ((_, measured, _),) = reported.brief(ran(*reasons)).rows
    assert measured.startswith(said)


def test_environments_are_named_where_they_differ(report) -> None:
    report(packages={})
    both = Results((*ran("ok"), *ran("wrong_numbers", environment=examples.OLD)))
    ((_, measured, _),) = reported.brief(both).rows
    assert "(1 ok) in example 2" in measured and "(1 wrong) in example 1" in measured


@pytest.mark.parametrize(
    "results",
    [
        ran("ok", environment=examples.OLD),  # another version
        ran("ok", kernel="example_gemm"),
        ran("ok", provenance={}),  # nobody knows where
        ran("ok", provenance={"gpu": {"sm": ["9"]}, "environment": {"packages": {"example-kernels": 2}}}),
        Results(),
    ],
)
def test_reports_of_other_kernels_versions_and_gpus_are_left_out(report, results: Results) -> None:
    assert reported.matches(results) == []
    assert "No known issue" in repr(reported.brief(results))


def test_another_family_is_left_out(report) -> None:
    report(sm=[100])
    assert reported.matches(ran("ok")) == []


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"sm": [100, 90]}, ["not measured: no trial ran on SM100"]),
        ({"sm": [120, 121], "packages": {"others": ">9"}}, ["not measured: no trial ran on SM120, SM121"]),
        ({"sm": [90]}, []),
        ({"sm": []}, []),  # of no family in particular
        ({"sm": [100], "shown": False}, []),
    ],
)
def test_families_without_a_trial_are_not_measured(report, facts, said) -> None:
    report(**facts)
    rows = elsewhere.unmeasured(ran("ok")).rows
    assert [measured for _, _, measured, _ in rows] == said


def test_a_family_whose_trials_did_not_run_is_not_measured_either(report) -> None:
    ((_, _, measured, _),) = elsewhere.unmeasured(ran("missing_cubin")).rows
    assert measured == "not measured: no trial ran on SM90"


def test_reports_of_families_can_be_those_of_some_kernels(report) -> None:
    report(sm=[100])
    assert elsewhere.unmeasured(Results(), ["example_gemm"]).rows == ()
    assert len(elsewhere.unmeasured(Results(), ["example_moe"]).rows) == 1
    report(sm=[100], kernels=[])
    assert len(elsewhere.unmeasured(Results(), ["example_gemm"]).rows) == 1


def followed(sm: int, *reasons: str, kernel: str = "example_moe_fp8", **facts: Any) -> Results:
    """Attempts for a family that is not here."""
    known = dict(gpu=f"SM{sm}, compiled only", mode="compiled", provenance={}, **facts)
    return Results(
        tuple(examples.one(kernel, {"n": n}, examples.NEW, each, **known) for n, each in enumerate(reasons))
    )


def test_each_kernel_is_measured_or_not_on_each_family(report) -> None:
    report(sm=[100, 120])
    measured = ran("ok", "ok", "missing_cubin", kernel="example_moe_fp8")
    tried = followed(100, "missing_cubin", "unsupported_arch", stage="first_call")
    ((kernel, sm90, sm100, sm103, sm120, _),) = elsewhere.by_family(measured, tried).rows
    assert (kernel, sm90, sm103) == ("example_moe_fp8", "measured: 2 ok", "not measured")
    assert sm100 == "not measured; followed: 1 as far as first_call, 1 unsupported; reported: KI-900"
    assert sm120 == "not measured; reported: KI-900"


def test_what_a_kernel_s_own_file_refuses_is_no_measurement_and_bears_no_report_out(report) -> None:
    report(sm=[90], reasons=["unsupported_arch"])
    declared = ran("unsupported_arch", kernel="example_moe", stage="prepare")
    ((_, sm90, *_),) = elsewhere.by_family(declared, Results()).rows
    assert sm90 == "not measured; not called: by its file the library has none here (1); reported: KI-900"
    assert reported.matches(declared) == []
    assert [row[2] for row in elsewhere.unmeasured(declared).rows] == ["not measured: no trial ran on SM90"]
    refused = ran("unsupported_arch", kernel="example_moe", stage="first_call")  # the library's own words
    assert elsewhere.by_family(refused, Results()).rows[0][1] == "measured: 1 unsupported"
    assert [each.word for each in reported.matches(refused)] == ["agrees"]


def test_a_kernel_that_nobody_ran_is_there_all_the_same(report) -> None:
    tried = followed(90, "missing_cubin", kernel="example_gemm", stage="<b>")
    shown = elsewhere.by_family(ran("ok"), tried)
    assert [row[0] for row in shown.rows] == ["example_gemm", "example_moe"]
    assert "not measured; followed: 1 as far as" in shown.rows[0][1] and "as far as <b>" not in shown.html()


def test_a_report_never_looks_like_a_result(report) -> None:
    page = reported.table(ran("wrong_numbers"))._repr_html_().partition("</style>")[2]
    assert '<span class="reported">KI-900, high confidence: &lt;b&gt;zeros&lt;/b&gt;</span>' in page
    assert not any(f"o-{outcome}" in page for outcome in LEGEND)
    assert "was not measured here" in page
    text = repr(reported.table(ran("wrong_numbers")))
    assert "reported: KI-900" in text and "agrees: 1 of 1 trial" in text


def test_only_https_becomes_a_link() -> None:
    sources = [
        "a/b#1",
        "https://example.org/x?y=1&z",
        "http://example.org",
        "javascript:alert(1)",
        'https://x"onclick',
    ]
    page = links(sources).html
    assert re.findall(r'href="([^"]*)"', page) == [
        "https://github.com/a/b/issues/1",
        "https://example.org/x?y=1&amp;z",
    ]
    assert links(sources) == ", ".join(sources)


def test_the_package_s_own_reports_are_matched() -> None:
    attempts: tuple[Result, ...] = ran("ok", kernel="trtllm_attention").attempts
    for attempt in attempts:
        attempt.provenance["environment"]["packages"] = {"flashinfer-python": "0.6.8.post1"}
    assert "KI-015" in [each.issue.id for each in reported.matches(Results(attempts))]
