import json
import re
from dataclasses import asdict, replace

import example_forensics as made
import example_results as examples
import pytest

from workbench import evidence
from workbench.evidence.facts import fault, findings
from workbench.evidence.probe import Probe, probes
from workbench.results import Results
from workbench.store import parse

SHOWN = (evidence.against, evidence.fenced, evidence.attributed, evidence.located, evidence.canaries)


@pytest.fixture(scope="module")
def results() -> Results:
    return made.results()


def probe(results: Results, environment: str, mode: str) -> Probe:
    names = (environment, mode)
    return next(each for each in probes(results) if (each.trial.environment, each.trial.mode) == names)


def test_a_narrowed_fault_names_the_tensor_that_crashes_alone(results: Results) -> None:
    found = probe(results, examples.OLD, "fenced")
    assert found.alone == {made.SCALE: [True, True], made.WEIGHT: [False]}
    assert [(each.tensor, each.place) for each in found.touched] == [(made.SCALE, "after its end")]
    assert re.search(
        rf"{made.SCALE} +after its end +faults in 2 of 2 reruns; 1 others alone do not", _text(results)
    )


def test_a_fault_that_was_not_narrowed_names_no_tensor(results: Results) -> None:
    planned = Results(tuple(each for each in results if not each.rerun))
    assert [each.tensor for each in probe(planned, examples.OLD, "fenced").touched] == [""]
    assert "tensor not known: an illegal address, with fences at the ends" in _text(planned)


def test_where_the_fence_stands_is_where_it_was_run_into() -> None:
    crash = made.one("e", "fenced_start", "illegal_memory_access", forensic=made.fence("start"))
    assert probes(Results((crash,)))[0].touched[0].place == "an illegal address, with fences at the starts"
    alone = replace(crash, rerun="narrowed", forensic=made.fence("start", only=made.SCALE))
    assert probes(Results((crash, alone)))[0].touched[0].place == "before its start"


def test_a_crash_of_another_kind_is_no_touch() -> None:
    crash = made.one("e", "fenced", "segfault_abort", forensic=made.fence())
    assert probes(Results((crash,)))[0].touched == []
    assert "Cs segfault_abort" in _text(Results((crash,)))


def test_latent_is_what_the_call_as_planned_does_not_show(results: Results) -> None:
    assert probe(results, examples.OLD, "fenced").latent
    assert not probe(results, examples.NEW, "fenced").latent  # clean
    alone = Results(tuple(each for each in results if each.trial.mode == "fenced"))
    assert not probe(alone, examples.OLD, "fenced").latent  # nobody knows
    crash = made.one(examples.OLD, "eager", "illegal_memory_access")
    assert not probe(Results((*results, crash)), examples.OLD, "fenced").latent  # it shows
    assert "latent: 2 ok" in _text(results) and "do not count" in _text(results)


def test_findings_of_the_sanitizer_are_said_in_full(results: Results) -> None:
    wanted = f"{made.SCALE}: 1 byte after its end (of 259200 bytes), read of 16 bytes, 96 times"
    assert wanted in _text(results)
    assert "_matmul_example (memcheck)" in _text(results)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (
            dict(kind="race", side="", access="read and write"),
            "two threads raced: read and write of 16 bytes",
        ),
        (
            dict(side="inside", kind="uninitialized"),
            "inside it (of 259200 bytes), never written: read of 16 bytes",
        ),
        (dict(tensor=""), "tensor not known: 1 byte after its end"),
        (dict(count="many", bytes=None, distance_bytes=[]), "after its end (of 259200 bytes), read"),
    ],
)
def test_findings_of_other_kinds(facts: dict[str, object], said: str) -> None:
    told = {"sanitizer": {"tool": "racecheck", "findings": [made.finding(**facts)]}}
    result = made.one("e", "sanitized", "illegal_memory_access", forensic=told)
    assert said in findings(result)[0].text


def test_clean_says_what_was_not_fenced_and_gaps_are_said(results: Results) -> None:
    left_out = [dict(name="out", why="the library allocates it")]
    clean = made.one("e", "fenced", forensic=made.fence(not_fenced=left_out))
    text = _text(Results((clean,)))
    assert "O clean, 1 not fenced" in text
    assert re.search(r"out +not fenced: the library allocates it +1", text)
    assert re.search(rf"{made.WEIGHT} +a gap of 12 bytes before the fence +1", text)
    assert not re.search(rf"{made.SCALE} +a gap", text)


@pytest.mark.parametrize(("errors", "said"), [(0, True), (1, False), (None, False)])
def test_a_wrong_answer_under_a_tool_that_found_nothing_says_so(errors: int | None, said: bool) -> None:
    told = {"sanitizer": {"tool": "memcheck", "findings": [], "errors": errors}}
    wrong = Results((made.one("e", "sanitized", "wrong_numbers", forensic=told),))
    assert ("memcheck found nothing" in _text(wrong)) == said
    assert ("memcheck found nothing" in repr(evidence.against(wrong))) == said


def test_what_a_message_says_is_not_said_beside_it_again() -> None:
    told = {"sanitizer": {"tool": "memcheck", "findings": [], "errors": 0}}
    detail = "memcheck found nothing; under it: worst row off by 1"
    wrong = made.one("e", "sanitized", "wrong_numbers", forensic=told, detail=detail)
    assert repr(evidence.against(Results((wrong,)))).count("memcheck found nothing") == 1


def test_kernels_that_ran_and_were_never_fenced_are_named(results: Results) -> None:
    own = [each for each in results if each.trial.kernel == made.KERNEL]
    ran, refused = (
        examples.one(name, {}, "e", how) for name, how in (("k1", "ok"), ("k2", "unsupported_arch"))
    )
    assert "Neither fenced nor sanitized so far: k1." in _text(Results((*own, ran, refused)))
    assert "so far" not in _text(Results(tuple(own)))


def test_clean_says_what_its_case_does_not_reach() -> None:
    clean = made.one("e", "fenced", forensic=made.fence(reached={"last_expert": False, "last_page": True}))
    assert "O clean, last_expert not reached" in _text(Results((clean,)))
    assert "last_page" not in _text(Results((clean,)))


def test_a_rerun_that_did_not_meet_its_tensor_tells_nothing(results: Results) -> None:
    unmet = [dict(name="gone", why="no such tensor was met")]
    rerun = made.one(
        examples.OLD, "fenced", rerun="narrowed", forensic=made.fence(only="gone", not_fenced=unmet)
    )
    assert "gone" not in probe(Results((*results, rerun)), examples.OLD, "fenced").alone


def test_the_surest_word_names_the_kernel() -> None:
    told = [
        made.one("e", "eager", "illegal_memory_access", forensic={"fault": {"kernel": by, "by": by}})
        for by in ("error text", "core dump", "blocking launch", "hearsay")
    ]
    assert fault(told).kernel == "core dump"  # type: ignore[union-attr]
    assert fault([]) is None


def test_what_ended_alike_is_one_row(results: Results) -> None:
    found = evidence.against(results)
    assert [(row[0], row[2]) for row in found.rows] == [
        ("example_attention", "1; eager"),
        ("example_matmul", "2; fenced; sanitized"),
    ]
    ids = {result.trial.id for result in results if result.trial.mode in ("fenced", "sanitized")}
    assert set(found.rows[1][-1].split(", ")) <= ids


def test_three_answers_each_with_its_evidence(results: Results) -> None:
    row = next(
        row
        for row in evidence.attributed(results).rows
        if row[-1] == probe(results, examples.OLD, "fenced").trial.id
    )
    assert row[2].startswith(
        "_matmul_example (core dump), of example-kernels 1.0.0, beside asked.w.scale.data"
    )
    assert "example-kernels: faults with 1.0.0, right with 2.0.0" in row[3]
    assert row[1].endswith("; fenced; tokens=16, hidden=2880")
    assert row[4].startswith("library: ") and "; caller: not known" in row[4]
    assert all("(evidence: " in answer for answer in row[2:5])


def test_a_lone_crash_is_attributed_to_nobody() -> None:
    crash = made.one("e", "eager", "illegal_memory_access")
    assert evidence.attributed(Results((crash,))).rows[0][2:6] == (*("not known",) * 3, "-")


def test_trials_with_the_same_answers_are_one_row() -> None:
    crashes = [examples.one("k", {"n": place}, "e", "segfault_abort") for place in range(3)]
    assert [row[-2] for row in evidence.attributed(Results(tuple(crashes))).rows] == ["3"]


def test_reruns_and_lost_gpus_are_told(results: Results) -> None:
    (rerun,) = evidence.located(results).rows
    assert rerun[5:9] == (
        "located",
        "Cm illegal_memory_access (1 of 1)",
        "example_decode_kernel",
        "core dump",
    )
    again = made.one(examples.OLD, "graph", rerun="verified")
    assert len(evidence.located(Results((*results, again))).rows) == 1
    (lost,) = evidence.canaries(results).rows
    assert "the canary hung for 120 s" in lost[3] and lost[4] == "1"


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
def test_empty_states_say_how_to_fill_them(show) -> None:
    assert "`workbench run" in repr(show(Results()))
    assert "<code>workbench run" in show(Results())._repr_html_()


@pytest.mark.parametrize("show", SHOWN, ids=lambda show: show.__name__)
@pytest.mark.parametrize(
    "forensic",
    [
        {"fence": 1, "sanitizer": [], "fault": "x", "attribution": ["where"]},
        {"fence": {"tensors": [1], "not_fenced": {}, "only": "a", "edge": []}, "fault": {"kernel": ["k"]}},
        {
            "sanitizer": {"findings": [1, {}, {"tensor": 5, "side": {}}]},
            "attribution": {"where": {"evidence": {}}},
        },
        {
            "fence": {"only": [examples.HOSTILE]},
            "attribution": {"who": {"evidence": examples.HOSTILE, "<b>": "<i>"}},
        },
    ],
)
def test_facts_of_any_shape_are_shown(show, forensic) -> None:
    crashes = [
        made.one("e", mode, "illegal_memory_access", forensic=forensic, rerun=rerun)
        for mode in ("fenced", "sanitized", "eager") for rerun in ("", "narrowed", "located")
    ]  # fmt: skip
    page = show(Results(tuple(crashes)))._repr_html_()
    assert not re.search(r"<script|<img|<i>|[\x00-\x09\x0b-\x1f\u202e]", page)


def test_made_up_results_can_be_stored(results: Results) -> None:
    for result in results:
        line = json.dumps(replace(result, trial=asdict(result.trial)).__dict__).encode()  # type: ignore[arg-type]
        assert parse(line) == result


def _text(results: Results) -> str:
    return repr(evidence.fenced(results))


def test_the_instruments_show_what_stopped_and_what_passed():
    stopped = examples.one("planted", {"side": "after"}, examples.OLD, "illegal_memory_access", mode="fenced")
    passed = examples.one("planted", {"side": "after"}, examples.OLD, mode="fenced_start")
    (row,) = evidence.planted(Results((stopped, passed))).rows
    assert row[1] == "not run" and "illegal_memory_access" in row[2] and "ok" in row[3]
    assert "benchmarks/planted.py" in repr(evidence.planted(Results()))
    told = {"fault": {"kernel": "zoo_reads", "by": "core dump"}}
    fault = examples.one(
        "gpu_faults", {"how": "<b>"}, examples.OLD, "misaligned_address", mode="eager", forensic=told
    )
    (row,) = evidence.zoo(Results((fault,))).rows
    assert row[0] == "<b>" and row[4] == "zoo_reads (core dump)"
    assert "<b>" not in evidence.zoo(Results((fault,)))._repr_html_()


def test_many_faults_are_attributed_in_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standings that are made anew for each fault take minutes for a thousand of them."""
    read, trials = [], Results.trials
    monkeypatch.setattr(Results, "trials", lambda self: read.append(1) or trials(self))
    crashes = [
        examples.one("k", {"tokens": number}, examples.OLD, "illegal_memory_access") for number in range(40)
    ]
    assert evidence.attributed(Results(tuple(crashes))).rows[0][-2] == "40"
    assert len(read) == 1
