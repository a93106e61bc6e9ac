"""The parts of the page on the public crash: each says what the trials say, how many they are, and no more."""

import json
from itertools import pairwise
from typing import Any

import pytest
from process_times import NEW, OLD, STEADY, attempt, times

from workbench import campaign
from workbench.campaign.same_code import controls, load
from workbench.campaign.single import MOST_VALUES, Single, singles
from workbench.pages.by_mode import by_mode
from workbench.results import OUTCOME_OF_REASON, Result, Results, Trial

A, B = "0.6.8.post1", "0.6.11.post1"
CASE = {"tokens": 8192, "hidden": 2880}
COPY = "triton-kernels-of-sglang-kernel"


def ran(
    reason: str = "ok",
    *,
    version: str = A,
    copy: str = "0.4.2",
    mode: str = "fenced",
    case: dict[str, Any] | None = None,
    loaded: list[str] | None = None,
    **facts: Any,
) -> Result:
    """One attempt in an environment of a FlashInfer and a copy of triton_kernels."""
    packages = {"flashinfer-python": version, COPY: copy}
    name = facts.pop("name", f"flashinfer {version} + triton_kernels {copy}")
    inherited = facts.pop("inherited", {"torch": "2.11.0"})
    provenance = {"environment": {"name": name, "hash": f"{packages}{inherited}", "packages": packages,
                                  "inherited": inherited}}  # fmt: skip
    trial = Trial(facts.pop("kernel", "mxfp4_swiglu"), case or CASE, mode, name, "Example GPU A")
    known = {
        "run": "run 1",
        "kernel_hash": "k",
        "found": {} if loaded is None else {"loaded": loaded},
    } | facts
    return Result(trial, outcome=OUTCOME_OF_REASON[reason], reason=reason, provenance=provenance, **known)


def of(*results: Result) -> Results:
    return Results(tuple(results))


def padded(reason: str, tokens: int, pad: bool, **facts: Any) -> Result:
    return ran(reason, case={**CASE, "tokens": tokens, **({"pad_scales": True} if pad else {})}, **facts)


def crashing(count: int, right: int = 0) -> Results:
    """Pairs of unpadded and padded trials: `count` whose unpadded one crashes, `right` whose padded one does."""
    crash = "illegal_memory_access"
    some = [
        padded(crash if not pad else "ok", tokens, pad) for tokens in range(count) for pad in (False, True)
    ]
    more = [
        padded(crash if pad else "ok", 100 + tokens, pad) for tokens in range(right) for pad in (False, True)
    ]
    return of(*some, *more)


def rows(results: Results) -> tuple[tuple[str, ...], ...]:
    (table,) = campaign.changes(results)
    return table.rows


def single(results: Results, name: str) -> Single:
    (found,) = [each for each in singles(results, ("pad_scales",)) if each.name == name]
    return found


@pytest.mark.parametrize(
    "count, right, flips, said",
    [
        (6, 0, "none", "flips it: fails with none"),
        (0, 6, "True", "flips it: fails with True"),
        (5, 0, "", "may be chance"),
        (6, 1, "", "may be chance"),
        (4, 4, "", "may be chance"),
    ],
)
def test_a_change_flips_an_outcome_where_no_coin_would(count, right, flips, said):
    found = single(crashing(count, right), "pad_scales")
    assert (found.flips, len(found.pairs)) == (flips, count + right)
    (row,) = [row for row in rows(crashing(count, right)) if row[0] == "pad_scales: none to True"]
    assert row[1:-1] == (said, "fenced", str(count + right), "0", "0", str(count), str(right))


def test_none_did_is_an_answer():
    results = of(*(ran("illegal_memory_access", version=version) for version in (A, B)))
    assert single(results, "flashinfer-python").nothing
    (row,) = rows(results)
    assert row[:2] == (f"flashinfer-python: {A} to {B} [not told]", "flips nothing")


def test_where_all_is_right_nothing_is_said_of_a_fault():
    (row,) = rows(of(ran(version=A), ran(version=B)))
    assert row[1] == "is right with both"


@pytest.mark.parametrize("values, pairs", [(MOST_VALUES, MOST_VALUES * (MOST_VALUES - 1) // 2), (40, 39)])
def test_of_many_values_each_is_paired_with_the_next(values, pairs):
    sizes = [64 * each for each in range(values)]
    found = singles(of(*(ran(case={**CASE, "hidden": size}) for size in sizes)), ("hidden",))
    assert len(found) == pairs
    next_ones = {(str(one), str(two)) for one, two in pairwise(sizes)}
    assert next_ones <= {each.values for each in found}


def test_two_differences_make_no_pair():
    assert singles(of(ran(version=A, copy="0.4.2"), ran(version=B, copy="0.4.5")), ()) == []
    assert singles(of(ran(version=A), ran(version=B, inherited={"torch": "2.12.0"})), ()) == []
    assert singles(of(ran(version=A), ran(version=B, kernel_hash="another")), ()) == []


def test_what_lies_beneath_is_a_change_as_well():
    (found,) = singles(of(ran(), ran(name="another", inherited={"torch": "2.12.0"})), ())
    assert (found.name, found.values) == ("torch", ("2.11.0", "2.12.0"))


def test_who_is_asked_more_often_does_not_fail_more_often():
    often = [ran(version=B, generation=each, attempt=each) for each in (1, 2)]
    often.append(ran("wrong_numbers", version=B, generation=3, attempt=3))
    found = single(of(ran(version=A, generation=1), *often), "flashinfer-python")
    assert (found.count(False, False), found.count(False, True)) == (1, 0)
    found = single(of(*(ran(version=A, generation=each) for each in (1, 2, 3)), *often), "flashinfer-python")
    assert found.count(False, True) == 1


def test_a_package_is_changed_between_processes_that_had_loaded_the_same():
    both = [ran(version=A, loaded=["flashinfer"]), ran(version=B, loaded=["flashinfer"])]
    assert single(of(*both), "flashinfer-python").loaded == "flashinfer"
    assert singles(of(both[0], ran(version=B, loaded=[])), ()) == []
    assert single(
        of(*(padded("ok", 1, pad, loaded=["flashinfer"] * pad) for pad in (False, True))), "pad_scales"
    )


def test_modes_are_compared_as_they_are_asked_for():
    results = of(*(ran(mode=mode) for mode in ("eager", "piecewise", "sanitized")))
    assert [each.values for each in singles(results, ())] == [("eager", "piecewise")]


def test_advice_has_the_trials_that_it_rests_on():
    crash = [ran("illegal_memory_access", version=version) for version in (A, B)]
    results = of(*crashing(7), *crash)
    rows = {row[0]: row for row in campaign.advice(results).rows}
    assert rows["Pad the scales?"][1:3] == (
        "yes: it fails with pad_scales none, and not with pad_scales True", "mxfp4_swiglu, fenced: 7 of 7 pairs fail so"
    )  # fmt: skip
    assert rows["Pin FlashInfer?"][1] == f"no: it fails with {A} and with {B}"
    assert "1 of 1 pairs fail on both sides, none on one alone" in rows["Pin FlashInfer?"][2]
    assert crash[0].trial.id in rows["Pin FlashInfer?"][3]
    assert rows["Pin triton_kernels?"][1:] == ("not known: no two trials differ in it alone", "-", "-")


def test_a_cure_that_harms_is_not_advised():
    (row,) = [row for row in campaign.advice(crashing(0, 6)).rows if row[0] == "Pad the scales?"]
    assert row[1] == "yes: it fails with pad_scales True, and not with pad_scales none"


def test_nothing_is_advised_from_what_may_be_chance():
    (row,) = [row for row in campaign.advice(crashing(3)).rows if row[0] == "Pad the scales?"]
    assert row[1] == "not known: nothing is told from chance"
    assert all(row[1].startswith("not known") for row in campaign.advice(Results()).rows)


def test_what_crashed_is_counted_by_input_and_by_who_was_watching():
    results = of(
        *crashing(2), ran("wrong_numbers", mode="piecewise"), ran("not_run", mode="eager"),
        ran(mode="eager", case={**CASE, "hidden": 3072}),
    )  # fmt: skip
    rows = {row[1:3]: row[3:8] for row in campaign.ended(results).rows}
    watched, plain = "fenced or sanitized", "as a caller would"
    assert rows[("K=2880", watched)] == ("2", "0", "0", "2", "0")
    assert rows[("K=2880, padded", watched)] == ("2", "2", "0", "0", "0")
    assert rows[("K=2880", plain)] == ("1", "0", "1", "0", "0"), "what was not run is not counted"
    assert rows[("K=3072", plain)] == ("1", "1", "0", "0", "0")


def test_modes_stand_side_by_side():
    results = of(ran(mode="eager"), ran("wrong_numbers", mode="piecewise"), ran("illegal_memory_access"))
    (shown,) = campaign.ran(results)
    assert shown.heads[2:] == ("eager", "piecewise", "fenced")
    assert shown.rows[0][2:] == ("1 ok", "1 wrong", "1 crashed")


def test_k_of_the_second_product_is_the_intermediate_size():
    case = {"intermediate": 768, "hidden": 2880}
    ((row,),) = (table.rows for table in campaign.ran(of(ran(kernel="mxfp4_combine", case=case))))
    assert row[1] == "K=768"


def test_right_in_eager_and_not_in_another_mode():
    results = of(
        ran(mode="eager"), ran("wrong_numbers", mode="piecewise", detail="off by 0.2 [at size 4096]\nmore"),
        ran("wrong_numbers", mode="eager", version=B), ran("wrong_numbers", mode="piecewise", version=B),
    )  # fmt: skip
    shown = by_mode(results)
    assert shown.caption == "Right in eager, and not in another mode: 1 of 1"
    ((_, _, environment, right, fails, _),) = shown.rows
    assert (environment, right) == (f"flashinfer {A} + triton_kernels 0.4.2", "eager")
    assert fails == "piecewise: wrong: off by 0.2 [at size 4096]"
    assert "none fails there" in repr(by_mode(of(ran(mode="eager"), ran(mode="graph"))))


@pytest.fixture
def same(tmp_path):
    def put(**facts: Any):
        group = {
            "package": COPY,
            "kernels": ["mxfp4_swiglu"],
            "where": {},
            "code": {"0.4.2": "a", "0.4.5": "a"},
        }
        file = tmp_path / "same.json"
        file.write_text(json.dumps([group | facts]))
        return file

    return put


def test_a_control_runs_the_same_code_on_the_same_libraries(same):
    def pairs(*results: Result, **facts: Any) -> list[tuple[str, str]]:
        return [names for _, names, _ in controls(of(*results), load(same(**facts)))]

    one, other = ran(copy="0.4.2"), ran(copy="0.4.5")
    assert len(pairs(one, other)) == 1
    assert pairs(one, ran(copy="0.4.8")) == [], "a release without a digest is not known"
    assert pairs(one, other, code={"0.4.2": "a", "0.4.5": "b"}) == []
    assert pairs(one, ran(copy="0.4.5", inherited={"torch": "2.12.0"})) == []
    assert pairs(one, other, where={"hidden": 3072}) == []
    assert len(pairs(one, other, where={"hidden": 2880, "window": -1})) == 1, "what a case lacks is as usual"
    assert pairs(one, other, kernels=["another"]) == []


def test_false_alarms_are_counted(same):
    results = of(ran(copy="0.4.2", mode="eager"), ran("wrong_numbers", copy="0.4.5", mode="eager"))
    counted, named = campaign.nulls(results, same())
    assert counted.rows == (("mxfp4_swiglu", "1", "1", "0", "0", "1", "1"),)
    assert named.rows[0][3:] == ("1 broken", "1", results.attempts[1].trial.id)
    counted, named = campaign.nulls(of(ran(mode="eager"), ran(copy="0.4.5", mode="eager")), same())
    assert counted.rows == (("mxfp4_swiglu", "1", "1", "0", "0", "1", "0"),)
    assert repr(named) == "No null control had a false alarm."


@pytest.mark.parametrize("factor, alarms", [(1.0, "0"), (1.05, "1")])
def test_a_false_alarm_of_speed_is_one_that_was_decided(same, factor, alarms):
    def timed(name: str, copy: str, by: float) -> list[Result]:
        environment = {"name": name, "hash": name, "packages": {COPY: copy}, "inherited": {}}
        provenance = {"environment": environment, "gpu": {"uuid_hash": "c0ffee"}}
        return [
            attempt(name, time_us, place, kernel="mxfp4_swiglu", provenance=provenance)
            for place, time_us in enumerate(times(by), start=1)
        ]

    counted, _ = campaign.nulls(of(*timed(OLD, "0.4.2", 1.0), *timed(NEW, "0.4.5", factor)), same())
    assert counted.rows[0][3:5] == ("1", alarms)


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "x.json").write_text('[{"kernels": []}]')
    with pytest.raises(ValueError, match="no list of groups of releases"):
        load(tmp_path / "x.json")


def tuning(environment: str, *tactics: int) -> list[Result]:
    return [
        attempt(
            environment, time_us, place, mode="graph+tuned", kernel="cutlass_moe",
            time={"tuning": {"chosen": {"gemm1": f"Runner {tactic}"}, "failed": 0}},
        )
        for place, (tactic, time_us) in enumerate(zip(tactics, STEADY, strict=False), start=1)
    ]  # fmt: skip


def test_every_tuned_row_has_its_tactics_and_its_default():
    default = attempt(OLD, 330.0, 1, kernel="cutlass_moe")
    (row,) = campaign.tuned(of(default, *tuning(OLD, 1, 1, 2, 1))).rows
    assert row[4].startswith("4 tunings, 0.2% apart: gemm1 Runner 1 (3, 100 us)")
    assert row[5:7] == ("330 us, n=1", "compiled whole; 0 tries failed")
    assert campaign.tuned(of(*tuning(NEW, 7))).rows[0][5] == "not run"
    assert campaign.tuned(of(default)).rows == ()


def test_versions_are_compared_as_tuned_at_set_tactics_and_at_those_both_picked():
    at = {"tokens": 1, "tactics": [1, 2]}
    fixed = [
        attempt(environment, time_us, place, kernel="cutlass_moe", case=at)
        for environment in (OLD, NEW)
        for place, time_us in enumerate(STEADY, start=1)
    ]
    untuned = [attempt(environment, 330.0, 1, kernel="cutlass_moe") for environment in (OLD, NEW)]
    results = of(*untuned, *fixed, *tuning(OLD, 1, 1, 2, 1), *tuning(NEW, 1, 3, 3, 3))
    rows = [row[5:] for row in campaign.equal_tactics(results).rows]
    assert [row[0] for row in rows] == ["as tuned", "by chance: gemm1 Runner 1", "set"]
    assert rows[0][2].startswith(("SAME", "AMBIGUOUS"))
    assert [row[3] for row in rows] == ["4+4", "3+1", "5+5"]
    assert rows[1][2] == "none"


def plan(tmp_path, *steps: dict[str, Any]):
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(steps))
    return file


def test_what_was_planned_and_not_run_is_listed_with_its_reason(tmp_path):
    done, refused, missing = (ran(mode=mode) for mode in ("eager", "graph", "piecewise"))
    refused = ran("not_run", mode="graph", detail="planned; the run ended before it\nmore")
    trials = [
        {
            "kernel": each.trial.kernel,
            "case": CASE,
            "mode": each.trial.mode,
            "environment": each.trial.environment,
        }
        for each in (done, refused, missing)
    ]
    whole = {"step": "whole", "trials": trials[:1]}
    file = plan(
        tmp_path, {"step": "part", "trials": trials}, whole, {"step": "none", "trials": [], "why": "no card"}
    )
    shown = campaign.not_run(of(done, refused), file)
    assert shown.caption == "The plan: 2 of 3 steps are not wholly run"
    assert shown.rows[0] == ("part", "3", "1", "2", "planned; the run ended before it; no attempt is stored")
    assert shown.rows[1] == ("whole", "1", "1", "0", "-")
    assert shown.rows[2] == ("none", "0", "0", "all", "no card")


def test_a_plan_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no list of steps"):
        campaign.not_run(Results(), plan(tmp_path, {"trials": []}))


def test_without_the_files_beside_the_results_a_page_can_be_made(tmp_path):
    assert "No plan is there" in repr(campaign.not_run(Results(), tmp_path / "none.json"))
    assert "makes a null control" in repr(campaign.nulls(of(ran()), tmp_path / "none.json"))


def test_texts_of_others_are_shown_plain(same, tmp_path):
    evil = "\x1b[31m<script>"
    results = of(ran(copy=evil), ran("illegal_memory_access", copy="0.4.5", detail=evil), ran(mode="eager"))
    for shown in (
        campaign.ended(results),
        campaign.ran(results),
        campaign.changes(results),
        by_mode(results),
    ):
        assert "\x1b" not in repr(shown)
        assert "<script>" not in shown._repr_html_()


def test_without_results_each_part_says_how_to_get_some(same):
    for shown in (
        campaign.ended(Results()), campaign.ran(Results()), campaign.changes(Results()),
        campaign.nulls(Results(), same()), campaign.tuned(Results()),
    ):  # fmt: skip
        assert "workbench run" in repr(shown)
    assert "is stored" in repr(campaign.equal_tactics(Results()))


@pytest.mark.parametrize(
    "text",
    ["", '[{"step": "a", "tri', '[{"step": "a", "trials": 5}]', '[{"step": "a", "trials": [{}]}]', "NaN"],
)
def test_a_plan_that_is_torn_or_of_another_kind_is_named(tmp_path, text):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(ValueError, match=r"plan\.json is"):
        campaign.not_run(Results(), tmp_path / "plan.json")


@pytest.mark.parametrize(
    "text", ["[", '[{"package": "p", "kernels": ["k"], "where": {}, "code": {"1": [1]}}]', "[1]"]
)
def test_codes_that_are_torn_or_no_text_are_named(tmp_path, text):
    (tmp_path / "codes.json").write_text(text)
    with pytest.raises(ValueError, match=r"codes\.json is"):
        campaign.nulls(Results(), tmp_path / "codes.json")
