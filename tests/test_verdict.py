"""The verdict: vetoes before speed, what is not known is no pass, and the edges of both. No process, no GPU."""

import re
from dataclasses import replace

import pytest
from process_times import NEW, OLD, attempt, times

from workbench.results import OUTCOME_OF_REASON, Outcome, Result, Results, Trial
from workbench.verdict import (
    Answer,
    Policy,
    Word,
    facts,
    html,
    judge,
    load_policy,
    markdown,
    named,
    text,
    two_of,
)
from workbench.verdict.policy import Choice

SM90 = {"uuid_hash": "c0ffee", "sm": "9.0"}


def timed(before=1.0, after=1.0, n=5, case=None, **facts):
    """Both sides right in `n` processes, at 100 us times a factor."""
    sides = ((OLD, before), (NEW, after))
    return [
        with_sm(attempt(name, time_us, generation, case=case or {"tokens": 1}, **facts))
        for name, factor in sides
        for generation, time_us in enumerate((times(factor) * 3)[:n], start=1)
    ]


def with_sm(result, sm="9.0"):
    gpu = result.provenance.get("gpu", {})
    return Result(**{**vars(result), "provenance": {**result.provenance, "gpu": {**gpu, "sm": sm}}})


def ended(environment, reason, generation=1, case=None, mode="graph", gpu="Example GPU A", **facts):
    trial = Trial("example", case or {"tokens": 2}, mode, environment, gpu)
    known = {"environment": {"name": environment, "hash": environment}, "gpu": SM90}
    given = {"run": "run 1", "arm": "a", "provenance": known, "stage": "check"} | facts
    return Result(trial, outcome=OUTCOME_OF_REASON[reason], reason=reason, generation=generation, **given)


def both(before, after, **facts):
    return [ended(OLD, before, **facts), ended(NEW, after, **facts)]


def judged(attempts, policy=None, current=""):
    return judge(Results(tuple(attempts)), OLD, NEW, current, policy or Policy())


def word(attempts, policy=None, **case):
    (found,) = (
        pair
        for family in judged(attempts, policy).families
        for pair in family.pairs
        if pair.trial.case == (case or {"tokens": 2})
    )
    return found.word


def test_no_worse_is_a_bump_and_slower_holds():
    assert judged(timed()).answer == Answer.BUMP
    assert judged(timed(after=0.9)).answer == Answer.BUMP
    found = judged(timed(after=1.05))
    assert found.answer == Answer.HOLD
    assert [pair.word for pair in found.regressions] == [Word.SLOWER]


def test_the_words_are_keep_and_revert_where_the_candidate_is_in_use():
    assert judged(timed(), current=NEW).answer == Answer.KEEP
    assert judged(timed(after=1.05), current=NEW).answer == Answer.REVERT
    with pytest.raises(ValueError, match="one of the two"):
        judged(timed(), current="example 3")


@pytest.mark.parametrize(
    "reason",
    ["segfault_abort", "hang_timeout", "wrong_numbers", "measurement_invalid", "no_kernel_for_config", "api_changed",
     "oom", "unknown", "not_exercised"],
)  # fmt: skip
def test_each_new_fault_is_a_veto_whatever_was_gained(reason):
    found = judged([*timed(after=0.5), *both("ok", reason)])
    assert found.answer == Answer.HOLD
    assert [pair.word for pair in found.regressions] == [Word.BROKEN]


def test_the_same_fault_on_both_sides_holds_no_pin_and_is_shown():
    found = judged([*timed(), *both("wrong_numbers", "wrong_numbers", detail="worst row off by 0.5")])
    assert found.answer == Answer.BUMP
    assert "1 unchanged fault" in text(found)


def test_a_fault_of_another_stage_is_another_fault():
    changed = [ended(OLD, "unknown", stage="build"), ended(NEW, "unknown", stage="first_call")]
    assert word([*timed(), *changed]) == Word.CHANGED
    assert judged([*timed(), *changed]).answer == Answer.BUMP


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("no_kernel_for_config", "wrong_numbers", Word.BROKEN),  # a clean refusal that became garbage
        ("api_changed", "segfault_abort", Word.BROKEN),
        ("illegal_memory_access", "wrong_numbers", Word.BROKEN),
        ("wrong_numbers", "illegal_memory_access", Word.CHANGED),
        ("illegal_memory_access", "no_kernel_for_config", Word.CHANGED),
        ("illegal_memory_access", "misaligned_address", Word.CHANGED),
    ],
)
def test_a_different_fault_votes_only_where_it_harms_more(before, after, wanted):
    assert word(both(before, after)) == wanted


def test_two_exceptions_without_a_reason_of_their_own_are_one_fault_where_they_say_the_same():
    def failed(*details):
        return [ended(name, "unknown", detail=said) for name, said in zip((OLD, NEW), details, strict=True)]

    assert word(failed("ValueError: 3.5 at 0x7f01", "ValueError: 4.5 at 0x7f02\nmore")) == Word.UNCHANGED
    assert word(failed("ValueError: no such layout", "AttributeError: 'x'")) == Word.CHANGED


def test_a_fault_traced_to_another_kernel_is_another_fault():
    traced = [
        ended(name, "illegal_memory_access", forensic={"fault": {"kernel": kernel}})
        for name, kernel in ((OLD, "a"), (NEW, "b"))
    ]
    assert word(traced) == Word.CHANGED
    assert word([ended(OLD, "illegal_memory_access"), traced[1]]) == Word.UNCHANGED


INFRASTRUCTURE = [
    *(reason for reason, outcome in OUTCOME_OF_REASON.items() if outcome == Outcome.NOT_RUN),
    "not_built", "oom_host", "channel_corrupted",
]  # fmt: skip


@pytest.mark.parametrize("reason", INFRASTRUCTURE)
def test_what_the_machine_did_is_neither_a_pass_nor_a_fault(reason):
    found = judged([*timed(), *both("ok", reason)])
    assert found.answer == Answer.NEED_DATA
    assert "1 not known" in text(found).split("what would settle it")[0]
    assert "workbench check" in text(found)
    assert judged([*timed(after=1.1), *both("ok", reason)]).answer == Answer.HOLD


def test_a_version_that_cannot_be_had_is_a_fault_and_a_network_that_is_down_is_none():
    gone = "there is no version of example==2 in the package index"
    assert word(both("ok", "not_built", detail=gone)) == Word.BROKEN
    for detail in (
        "the package index cannot be reached: dns error",
        f"{gone[:35]} in the folder of wheels",
        "",
    ):
        assert word(both("ok", "not_built", detail=detail)) == Word.NOT_KNOWN


def test_a_slow_compiler_is_no_hang():
    assert word(both("ok", "hang_timeout", stage="build")) == Word.NOT_KNOWN


def test_without_any_pair_there_is_no_answer():
    assert judged([]).answer == Answer.NEED_DATA
    alone = [each for each in timed() if each.trial.environment == OLD]
    assert judged(alone).answer == Answer.NEED_DATA
    assert "not planned" in markdown(judged(alone))


def test_faults_of_both_sides_alone_speak_for_nothing():
    assert judged(both("wrong_numbers", "wrong_numbers")).answer == Answer.NEED_DATA


def test_a_trial_right_on_both_sides_that_was_never_timed_together_is_open():
    found = judged(both("ok", "ok"))
    assert found.answer == Answer.NEED_DATA
    assert "not measured by turns" in text(found)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ((0, 5), (1, 5), Word.NOT_KNOWN),  # the baseline would hide one in five with 33 %
        ((0, 5), (3, 5), Word.BROKEN),
        ((0, 1), (1, 1), Word.BROKEN),
        ((1, 2), (1, 1), Word.UNCHANGED),
        ((1, 5), (2, 5), Word.UNCHANGED),
        ((1, 8), (8, 8), Word.BROKEN),
        ((2, 5), (0, 5), Word.MENDED),
    ],
)
def test_a_fault_of_some_processes_is_new_only_where_the_other_side_would_have_shown_it(
    before, after, wanted
):
    attempts = [
        ended(name, "wrong_numbers" if number <= faults else "ok", generation=number)
        for name, (faults, every) in ((OLD, before), (NEW, after))
        for number in range(1, every + 1)
    ]
    assert word(attempts) == wanted


WRONG, CRASH, NO_KERNEL, FINE = "wrong_numbers", "illegal_memory_access", "no_kernel_for_config", "ok"


def processes(environment, *reasons, **facts):
    return [ended(environment, reason, generation, **facts) for generation, reason in enumerate(reasons, 1)]


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        # a fault now and then is no leave for another one always
        ([WRONG] + 9 * [FINE], 10 * [CRASH], Word.BROKEN),
        ([CRASH] + 9 * [FINE], 10 * [NO_KERNEL], Word.BROKEN),
        # the newest attempt does not speak for all of them
        (10 * [CRASH], 9 * [WRONG] + [CRASH], Word.BROKEN),
        (9 * [WRONG] + [CRASH], 10 * [WRONG], Word.UNCHANGED),
        ([CRASH] + 9 * [WRONG], 9 * [WRONG] + [CRASH], Word.UNCHANGED),
        (5 * [WRONG] + 5 * [CRASH], 5 * [CRASH] + 5 * [WRONG], Word.UNCHANGED),
        (3 * [WRONG], 2 * [WRONG] + [CRASH], Word.CHANGED),
        # a wrong answer among crashes that the baseline may have hidden
        (2 * [CRASH], [CRASH, WRONG], Word.NOT_KNOWN),
    ],
)
def test_all_faults_of_a_side_are_weighed_in_whatever_order_they_came(before, after, wanted):
    assert word([*processes(OLD, *before), *processes(NEW, *after)]) == wanted


def test_several_faults_of_a_side_are_all_named():
    mixed = [*processes(OLD, FINE, FINE, FINE), *processes(NEW, WRONG, CRASH, WRONG)]
    assert "newly wrong in 2, crashed in 1 of 3 processes" in text(judged(mixed))


def some_wrong(before, after):
    """Both sides in six processes, the second half as slow again; the first so many of each side are wrong."""
    right = timed(after=1.5, n=6)
    wrong = [*range(before), *range(6, 6 + after)]
    return [
        ended(each.trial.environment, WRONG, each.generation, case={"tokens": 1}) if place in wrong else each
        for place, each in enumerate(right)
    ]


@pytest.mark.parametrize("after", [0, 1])
def test_a_fault_of_one_process_hides_no_slowdown_of_the_others(after):
    (pair,) = judged(some_wrong(1, after)).regressions
    assert pair.word == Word.SLOWER and "wrong in 1 of 6 processes" in pair.why


def test_what_is_surely_mended_may_take_longer():
    assert judged(some_wrong(3, 0)).answer == Answer.BUMP


def test_visits_of_one_process_are_one():
    twice = [ended(OLD, "ok", visit=visit) for visit in (1, 2)] + [
        ended(NEW, "ok", visit=1),
        ended(NEW, "oom", visit=2),
    ]
    (pair,) = judged(twice).families[0].pairs
    assert (pair.before.processes, pair.after.processes, pair.after.faults) == (1, 1, 1)


def test_too_few_processes_ask_for_more_and_say_how_many():
    found = judged(timed(n=1))
    assert found.answer == Answer.NEED_DATA
    assert re.search(r"workbench check .* --generations 5", text(found))


def test_one_command_settles_all_that_keeps_a_family_open():
    """Kernels and modes of all open trials, and as many processes as the one that needs most of them."""
    faults = [ended(OLD, "not_run", mode="piecewise"), ended(NEW, "not_run", mode="piecewise")]
    found = judged([*timed(n=1), *faults])
    (family,) = facts(found)["families"]
    assert [each["what"].split(".")[0] for each in family["settle"]][:2] == ["1 trial", "1 trial"]
    assert len(family["settle"]) == 3 and "in place of example 1" in family["settle"][-1]["what"]
    (command,) = {each["command"] for each in family["settle"]}
    assert command.endswith("--kernel-file example.py --mode graph --mode piecewise --generations 5")
    assert text(found).count("workbench check") == markdown(found).count("workbench check") == 1


def of_requirements(result, *asked):
    known = {**result.provenance["environment"], "requirements": list(asked)}
    return Result(**{**vars(result), "provenance": {**result.provenance, "environment": known}})


def test_the_command_names_what_can_be_pasted_and_says_what_cannot():
    """A wheel's folder and an interpreter are not in results; an address may be long."""
    address = f"example @ https://example.org/{'a' * 200}/example-1.0-py3-none-any.whl"
    asked = [
        of_requirements(ended(OLD, "ok"), "flashinfer-python==0.6.8", "triton==3.6.0"),
        of_requirements(ended(NEW, "missing_cubin"), address),
    ]
    said = text(judged(asked))
    assert f"workbench check 'flashinfer==0.6.8 triton==3.6.0' '{address}'" in said
    assert "in place of" not in said
    wheel = of_requirements(asked[1], "example-1.0-py3-none-any.whl")
    assert f"in place of {OLD} and example-1.0-py3-none-any.whl." in text(judged([ended(OLD, "ok"), wheel]))


def test_a_build_that_was_not_started_is_asked_for():
    refused = "the module moe is not built: bring one with --prebuilt DIR, or start the build with --build"
    found = text(judged(both("ok", "not_run", detail=refused)))
    assert re.search(r"workbench check .* --build\n", found) and "takes long" in found


def test_a_weight_that_no_trial_has_is_said():
    said = text(judged(timed(), Policy(weight=(Choice("exampel", weight=3.0),))))
    assert "no trial here is meant by the policy's weight for exampel" in said
    assert "policy's weight" not in text(judged(timed(), Policy(weight=(Choice("example", weight=3.0),))))


def test_noise_that_leaves_no_room_for_a_slowdown_is_enough():
    wide = [0.90, 1.0, 0.91, 0.99, 0.93]
    attempts = [
        with_sm(attempt(name, 100 * factor, generation))
        for name, factors in ((OLD, [1.0, 1.001, 0.999, 1.0, 1.002]), (NEW, wide))
        for generation, factor in enumerate(factors, start=1)
    ]
    (pair,) = judged(attempts).families[0].pairs
    assert pair.change.verdict == "AMBIGUOUS"
    assert pair.word == Word.NOT_SLOWER
    assert judged(attempts, Policy(slower=0.05)).answer == Answer.BUMP


def test_a_host_timed_call_is_judged_by_its_graph_and_is_open_without():
    host = dict(time={"timer": "cuda_events"}, mode="eager")
    alone = judged(timed(**host))
    assert alone.answer == Answer.NEED_DATA and "a graph shows the device's" in text(alone)
    words = {pair.trial.mode: pair.word for pair in judged([*timed(**host), *timed()]).families[0].pairs}
    assert words == {"eager": Word.UNTIMED, "graph": Word.SAME}


def test_weights_and_margins_are_the_policys():
    mixed = [*timed(case={"tokens": 1}, after=0.9), *timed(case={"tokens": 2}, after=1.04)]
    assert judged(mixed).answer == Answer.HOLD
    assert judged(mixed, Policy(slower=0.05)).answer == Answer.BUMP
    heavy = Policy(slower=0.05, weight=(Choice(case={"tokens": 2}, weight=9),))
    found = judged(mixed, heavy)
    assert found.answer == Answer.HOLD and "All trials together are slower" in text(found)
    without = Policy(weight=(Choice(case={"tokens": 2}, weight=0),))
    assert judged(mixed, without).answer == Answer.BUMP
    assert "1 without a vote" in text(judged(mixed, without))


def test_trials_that_are_slower_only_together_are_named_and_said_not_to_have_been_run_again():
    """Each may be 5 % slower, all of them not: the slowest stand first, one that is faster not at all."""
    factors = {1: 1.02, 2: 1.04, 3: 1.03, 4: 0.99}
    mixed = [
        each for tokens, factor in factors.items() for each in timed(case={"tokens": tokens}, after=factor)
    ]
    found = judged(mixed, Policy(slower=0.05))
    (family,) = facts(found)["families"]
    assert found.answer == Answer.HOLD
    assert [each["case"]["tokens"] for each in family["deciding"]] == [2, 3, 1]
    assert "What makes all together slower was not run again." in text(found)
    assert "Each came again" not in text(found)


def with_clocks(before_mhz, after_mhz, **of_timed):
    """The sides' SM clocks, in each process."""
    mhz = {OLD: before_mhz, NEW: after_mhz}
    return [
        replace(each, time=each.time | {"clocks": {"sm_mhz": mhz[each.trial.environment]}})
        for each in timed(**of_timed)
    ]


@pytest.mark.parametrize(
    ("after", "before_mhz", "after_mhz", "wanted"),
    [
        (1.09, 1980, 1920, Word.SLOWER),  # 5.7 % without what the clocks explain
        (1.06, 1980, 1920, Word.UNDECIDED),  # allowed, if the clocks explain 3 %
        (1.045, 1980, 1920, Word.NOT_SLOWER),
        (1.04, 1920, 1980, Word.UNDECIDED),  # 7 % at equal clocks
        (1.02, 1950, 1980, Word.NOT_SLOWER),
        (1.09, 1920, 1980, Word.SLOWER),
    ],
)
def test_what_the_policy_allows_holds_with_and_without_what_clocks_explain(
    after, before_mhz, after_mhz, wanted
):
    mixed = [*timed(), *with_clocks(before_mhz, after_mhz, after=after, case={"tokens": 2})]
    assert word(mixed, TOGETHER) == wanted
    open_ = [
        part for family in judged(mixed, TOGETHER).families for part in family.pairs if part.settle == "calm"
    ]
    assert [("SM clocks" in pair.why, pair.more) for pair in open_] == [(True, 0)] * (
        wanted == Word.UNDECIDED
    )


def test_slower_together_is_what_clocks_do_not_explain():
    def mixed(*sides):
        return [
            each
            for n, (after, before_mhz, after_mhz) in enumerate(sides)
            for each in with_clocks(before_mhz, after_mhz, after=after, case={"tokens": n})
        ]

    same = (1.0, 1980, 1980)
    assert judged(mixed((1.045, 1980, 1980), same, same), TOGETHER).answer == Answer.HOLD
    assert judged(mixed((1.045, 1980, 1930), same, same), TOGETHER).answer == Answer.BUMP
    # A gain that the clocks explain hides no slowdown of others.
    slower = [(1.04, 1980, 1980)] * 3
    assert judged(mixed((0.90, 1980, 1980), *slower), TOGETHER).answer == Answer.BUMP
    assert judged(mixed((0.90, 1880, 1980), *slower), TOGETHER).answer == Answer.HOLD


def slower_together(*factors):
    """Each trial may be 5 % slower, all together 1 %."""
    return [each for n, factor in enumerate(factors) for each in timed(case={"tokens": n}, after=factor)]


TOGETHER = Policy(slower=0.05)


def test_what_is_slower_only_together_holds_if_it_came_again():
    found = judged([*slower_together(1.02, 1.04, 1.03), *again(slower_together(1.03, 1.03, 1.03))], TOGETHER)
    (family,) = facts(found)["families"]
    assert found.answer == Answer.HOLD and family["run_again"] is True
    assert len(family["deciding"]) == 3
    assert "All together were slower again when they were run again: +3.00%" in text(found)
    assert "not run again" not in text(found)


def test_what_is_slower_only_together_and_did_not_come_again_needs_data():
    attempts = [*slower_together(1.02, 1.04, 1.03), *again(slower_together(1.0, 1.01, 1.0))]
    found = judged(attempts, TOGETHER)
    (family,) = facts(found)["families"]
    assert found.answer == Answer.NEED_DATA and (family["run_again"], family["deciding"]) == (False, [])
    assert "Slower together, which did not come again: +3.00%" in text(found)
    assert "3 trials. What was slower together" in text(found) and "--generations 12" in text(found)
    anew = in_run(slower_together(1.0, 1.0, 1.0), "run 3")
    assert judged([*attempts, *anew], TOGETHER).answer == Answer.BUMP


def test_trials_that_were_not_slower_together_deny_nothing_of_the_others():
    """Another device of the family may have the rest."""
    found = slower_together(1.0, 1.04, 1.04)
    few = judged([*found, *again(timed(case={"tokens": 0}))], TOGETHER)
    assert few.answer == Answer.HOLD and "was not run again" in text(few)
    most = judged([*found, *again(slower_together(1.0, 1.0))], TOGETHER)
    assert most.answer == Answer.NEED_DATA


def test_what_was_run_again_alone_says_nothing_of_all_together():
    slow = timed(case={"tokens": 9}, after=1.2)
    found = judged([*slower_together(1.03, 1.03), *slow, *again(slow)], TOGETHER)
    assert [pair.again for pair in found.regressions] == [True]
    assert facts(found)["families"][0]["run_again"] is None
    assert "What makes all together slower was not run again." in text(found)


def test_a_time_before_the_finding_or_of_other_contents_is_no_repeat():
    found = at(slower_together(1.03, 1.03), "2026-12-01T02")
    for fine in (("2026-12-01T01", "example"), ("2026-12-01T03", "the wheel before")):
        repeat = at(again(slower_together(1.0, 1.0)), *fine)
        assert judged([*repeat, *found], TOGETHER).answer == Answer.HOLD


def test_required_trials_alone_must_have_an_answer_where_the_policy_names_them():
    attempts = [*timed(), *both("ok", "missing_cubin")]
    assert judged(attempts, Policy(required=(Choice(case={"tokens": 1}),))).answer == Answer.BUMP
    nowhere = judged(timed(), Policy(required=(Choice(kernel="other"),)))
    assert nowhere.answer == Answer.NEED_DATA and "Required, and not there: other" in text(nowhere)


def test_each_family_has_its_answer_and_one_that_is_wanted_and_absent_is_said():
    second = [with_sm(each, "10.0") for each in timed(after=1.1, gpu="Example GPU B", card="beef")]
    found = judged([*timed(), *second])
    assert {family.name: family.answer for family in found.families} == {"SM90": "BUMP", "SM100": "HOLD"}
    assert found.answer == Answer.HOLD
    only = judged([*timed(), *second], Policy(families=("SM90", "SM120")))
    assert {family.name: str(family.answer) for family in only.families if family.votes} == {
        "SM90": "BUMP", "SM120": "NEED DATA",
    }  # fmt: skip
    assert only.answer == Answer.NEED_DATA


def test_a_machine_without_a_gpu_makes_no_family_beside_one_that_has():
    without = both("not_run", "not_run", gpu="none", provenance={})
    assert [family.name for family in judged([*timed(), *without]).families] == ["SM90"]
    assert [family.name for family in judged(without).families] == ["no GPU"]


def test_a_function_that_is_gone_is_known_without_a_gpu():
    told = dict(gpu="none", provenance={}, stage="find")
    gone = [ended(OLD, "not_run", found={"api": "example.f"}, **told), ended(NEW, "api_changed", **told)]
    assert judged([*timed(), *gone]).answer == Answer.HOLD
    never_seen = [ended(OLD, "not_run", **told), gone[1]]
    assert judged(never_seen).answer == Answer.NEED_DATA


@pytest.mark.parametrize("mode", ["fenced", "fenced_start", "piecewise+fenced", "sanitized", "compiled"])
def test_latent_and_compiled_facts_stand_beside(mode):
    found = judged([*timed(), *both("ok", "illegal_memory_access", mode=mode)])
    assert found.answer == Answer.BUMP
    said = "Compiled and never run" if mode == "compiled" else "Latent faults"
    assert said in markdown(found)


def test_equal_arms_are_no_regression_and_give_the_floor():
    arms = [Result(**{**vars(each), "arm": "b"}) for each in timed()]
    assert judged([*timed(), *arms]).answer == Answer.BUMP
    assert judged([*timed(after=1.05), *arms]).answer == Answer.NEED_DATA  # equal arms that are 5 % apart
    with pytest.raises(ValueError, match="against itself"):
        judge(Results(tuple(timed())), OLD, OLD)


def in_run(attempts, run, **facts):
    return [replace(each, run=run, **facts) for each in attempts]


@pytest.mark.parametrize("facts", [{}, {"kernel_hash": "newer"}])
def test_times_of_other_contents_or_an_older_kernel_file_say_nothing(facts):
    """However many there are."""
    older = at(in_run(timed(n=12), "run 1"), "2026-12-01T01", "" if facts else "the wheel before")
    newer = at(in_run(timed(after=1.2), "run 2", **facts), "2026-12-01T02", "")
    assert word([*older, *newer], tokens=1) == Word.SLOWER


def test_a_later_run_that_says_slower_is_not_outvoted_by_more_processes_of_an_earlier_one():
    same, slower = in_run(timed(n=12), "run 1"), in_run(timed(after=1.05), "run 2")
    found = judged([*same, *slower])
    assert found.answer == Answer.NEED_DATA and "a later run says \\+5.0%" in markdown(found)
    assert "--generations 12" in text(found)
    assert judged([*same, *slower, *in_run(timed(n=12), "run 3")]).answer == Answer.BUMP
    assert judged([*same, *slower, *in_run(timed(after=1.05, n=12), "run 3")]).answer == Answer.HOLD
    assert judged([*in_run(slower, "run 0"), *same]).answer == Answer.BUMP


def again(attempts):
    return [Result(**{**vars(each), "rerun": "verified", "run": "run 2"}) for each in attempts]


def test_a_regression_must_come_again_where_it_was_run_again():
    slower = timed(after=1.05)
    assert judged(slower).regressions[0].again is None
    assert judged([*slower, *again(timed(after=1.05))]).regressions[0].again is True
    undone = judged([*slower, *again(timed())])
    assert undone.answer == Answer.NEED_DATA and "when run again" in markdown(undone)
    crash = both("ok", "segfault_abort")
    assert judged([*crash, *again(crash)]).regressions[0].again is True
    assert judged([*crash, *again(both("ok", "ok"))]).answer == Answer.NEED_DATA
    assert judged([*crash, *again(both("ok", "node_lost"))]).regressions[0].again is None


def at(attempts, started, contents="example"):
    """The same, begun then, with these contents of the environments."""
    known = {"started": started, "gpu": SM90}
    return [
        replace(each, provenance={**known, "environment": {"hash": contents + each.trial.environment}})
        for each in attempts
    ]


@pytest.mark.parametrize(
    ("later", "before"),
    [(timed(after=1.05), timed(after=1.05)), (both("ok", "segfault_abort"), both("ok", "segfault_abort"))],
)
def test_what_did_not_come_again_once_is_asked_again_when_it_is_found_anew(later, before):
    fine = timed() if later[0].time else both("ok", "ok")
    denied = [*at(before, "2026-12-01T01"), *at(again(fine), "2026-12-01T02")]
    assert judged(denied).answer == Answer.NEED_DATA
    anew = in_run(at(later, "2026-12-01T03"), "run 3")
    assert [pair.again for pair in judged([*denied, *anew]).regressions] == [None]
    assert judged([*denied, *anew, *at(again(fine), "2026-12-01T04")]).answer == Answer.NEED_DATA


def test_what_other_contents_did_again_says_nothing():
    crash = at(both("ok", "segfault_abort"), "2026-12-01T02", "a wheel built anew")
    fine = at(again(both("ok", "ok")), "2026-12-01T03", "the wheel before")
    assert [pair.again for pair in judged([*fine, *crash]).regressions] == [None]


def test_a_fault_that_comes_now_and_then_is_not_denied_by_two_processes():
    found = [*processes(OLD, *[FINE] * 15), *processes(NEW, *[WRONG] * 4, *[FINE] * 11)]
    assert [pair.again for pair in judged([*found, *again(both("ok", "ok"))]).regressions] == [None]
    many = again([*processes(OLD, *[FINE] * 10), *processes(NEW, *[FINE] * 10)])
    assert judged([*found, *many]).answer == Answer.NEED_DATA
    met = again([*processes(OLD, *[FINE] * 10), *processes(NEW, *[FINE] * 9, WRONG)])
    assert [pair.again for pair in judged([*found, *met]).regressions] == [True]


def test_a_fault_that_the_baseline_has_as_often_when_run_again_did_not_come_again():
    found = [*processes(OLD, FINE, FINE), *processes(NEW, WRONG, WRONG)]
    equal = again([*processes(OLD, WRONG, WRONG), *processes(NEW, WRONG, WRONG)])
    assert judged([*found, *equal]).answer == Answer.NEED_DATA
    often = [*processes(OLD, WRONG, *[FINE] * 9), *processes(NEW, *[WRONG] * 10)]
    once = again([*processes(OLD, WRONG, FINE), *processes(NEW, WRONG, WRONG)])
    assert [pair.again for pair in judged([*often, *once]).regressions] == [True]


def test_different_kernel_files_are_not_compared():
    sides = [ended(OLD, "ok", kernel_hash="a"), ended(NEW, "wrong_numbers", kernel_hash="b")]
    assert word(sides) == Word.NOT_KNOWN


def test_trials_that_fail_alike_are_one_row():
    many = [
        each
        for tokens in range(7)
        for each in both("ok", "illegal_memory_access", case={"tokens": tokens}, detail=f"at 0x{tokens:08x}")
    ]
    found = markdown(judged(many))
    assert found.count("newly crashed") == 1 and "7 trials alike" in found


HOSTILE = "@someone #12 GH-12 |x| `y` <img src=x> [a](http://b) www.example \x1b[31m\n## no **bold**"


def test_a_comment_mentions_nobody_and_keeps_its_tables():
    posted = markdown(judged(both("ok", "unknown", detail=HOSTILE, case={HOSTILE: HOSTILE})), "https://pages")
    found = posted.replace("https://pages/01_crash_matrix.html#t", "")
    assert not re.search(r"[@#][a-z0-9]|GH-[0-9]|(?<!\\)<img|(?<!\\)`y|://b|www\.e|\x1b", found)
    assert re.search(r"\[([0-9a-f]{10})\]\(https://pages/01_crash_matrix.html#t\1\)", posted)
    rows = [line for line in found.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert "<img" not in html(judged(both("ok", "unknown", detail=HOSTILE)))


def test_a_comment_is_never_too_long_and_says_what_it_left_out():
    many = [
        each
        for number in range(1500)
        for each in both(
            "ok", "unknown", case={"tokens": number}, detail=f"{'word ' * 60}{chr(97 + number % 26) * number}"
        )
    ]
    found = markdown(judged(many))
    assert len(found) <= 60_000
    assert found.startswith("## HOLD") and "left out" in found


@pytest.mark.parametrize(
    ("cards", "families", "asked"), [(120, 120, "x" * 500), (1, 1, "`" * 100_000), (600, 1, "x")]
)
def test_a_comment_that_is_cut_keeps_its_blocks_whole(cards, families, asked):
    """Many families, a command that is longer than a comment may be, and cards that fill one with their names."""
    many = [
        with_sm(of_requirements(each, *[asked[:500]] * (len(asked) // 500 + 1)), f"{number % families}.0")
        for number in range(cards)
        for each in both("ok", "missing_cubin", gpu=f"GPU {number} {'n' * 100}")
    ]
    found = markdown(judged(many))
    assert len(found) <= 60_000
    assert found.startswith("## NEED DATA") and found.endswith(
        "The rest is left out: it was too long for a comment.\n"
    )
    fences = re.findall(r"^`{3,}", found, re.MULTILINE)
    assert fences[::2] == fences[1::2]
    assert found.count("<details>") == found.count("</details>")


def test_facts_are_json_and_name_what_decided():
    import json

    found = json.loads(json.dumps(facts(judged(timed(after=1.05)))))
    assert found["answer"] == "HOLD"
    (decided,) = found["families"][0]["deciding"]
    assert decided["id"] == Trial("example", {"tokens": 1}, "graph", NEW, "Example GPU A").id
    assert decided["ratio"] == pytest.approx(1.05)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("margn = 1", "'margn' is not known; there are rule, margin, slower"),
        ("rule = 'quick'\n\nmargin = -1", "p.toml, line 3: margin is a number"),
        (
            "[[weight]]\nweight = 1\n[[weight]]\nkernel = 'x'\nweight = 'y'",
            "p.toml, line 5: weight is a number",
        ),
        ("slower = 0.1\n[[required]]\nkernal = 'x'", "p.toml, line 3: required: 'kernal'"),
        ("margin = 0.01\nslower = fast", "line 2"),
        (
            "[[weight]]\nkernal = 'x'\nweight = 1",
            "'kernal' is not known; there are kernel, mode, case, weight",
        ),
        ("[[weight]]\nkernel = 'x'", "without its weight"),
        ("[[required]]\nweight = 3", "'weight' is not known; there are kernel, mode, case"),
        ("rule = 'strict'", "no rule 'strict'; there are quick, default, thorough"),
        ("rule = []", "no rule"),
        ("slower = 5", "a number from 0 to 1"),
        ("margin = true", "a number from 0 to 1"),
        ("families = 'SM90'", "families is a list"),
        ("weight = 3", r"under a line \[\[weight\]\]"),
        ("x", "is not TOML"),
    ],
)
def test_a_policy_that_is_wrong_is_refused_by_name(tmp_path, written, says):
    (tmp_path / "p.toml").write_text(written)
    with pytest.raises(ValueError, match=says):
        load_policy(tmp_path / "p.toml")


def test_the_documented_policy_is_the_default_but_for_its_examples(tmp_path):
    from workbench.commands._verdict import LOOKS
    from workbench.verdict.policy import DEFAULT

    (tmp_path / "p.toml").write_text(LOOKS.partition("\n")[2])
    read = load_policy(tmp_path / "p.toml")
    assert (read.rule, read.slower, read.slower_overall) == (
        DEFAULT.rule,
        DEFAULT.slower,
        DEFAULT.slower_overall,
    )
    assert read.weight_of(Trial("trtllm_attention", {"batch": 64}, "graph", "e", "g")) == 3
    assert read.weight_of(Trial("trtllm_attention", {"batch": 6}, "graph", "e", "g")) == 1


def test_environments_are_named_by_a_part_that_one_alone_has():
    results = Results(tuple(timed()))
    assert named(results, "2") == NEW
    assert two_of(results) == (OLD, NEW)
    with pytest.raises(ValueError, match="several environments have 'example' in their name"):
        named(results, "example")
    with pytest.raises(ValueError, match="no environment has"):
        named(results, "none")


@pytest.mark.parametrize("sm", ["²", "9" * 5000, "١٢", "-9.0", "9.0.0"])
@pytest.mark.parametrize(
    "lock", [{"packages": {"x": 1}, "inherited": "torch"}, {"packages": {"x": {}}, "inherited": [1]}]
)
def test_a_card_and_a_lock_of_any_shape_are_shown(sm, lock):
    results = [
        Result(
            **{**vars(each), "provenance": {"environment": lock, "gpu": {"uuid_hash": "c0ffee", "sm": sm}}}
        )
        for each in timed()
    ]
    verdict = judge(Results(tuple(results)), OLD, NEW, policy=Policy())
    assert text(verdict)
    assert markdown(verdict)
    assert html(verdict)
    assert facts(verdict)


def test_where_none_is_named_the_two_with_the_most_in_common_are_judged():
    """What was measured of something else, on another machine, does not become the candidate."""
    own = [ended(name, "ok", case={"tokens": tokens}) for name in (OLD, NEW) for tokens in (1, 2)]
    alone = [ended(name, "ok", case={"tokens": 9}) for name in ("a first one", "zz last one")]
    results = Results(tuple([*alone, *own]))
    assert two_of(results) == (OLD, NEW)
    assert two_of(results, baseline=NEW) == (NEW, OLD)
    assert two_of(results, candidate="zz") == ("a first one", "zz last one")
    with pytest.raises(ValueError, match="two environments"):
        two_of(Results(tuple(own[:2])))
    assert two_of(Results((*own, ended("once", "ok", generation=0))), candidate="once") == (OLD, "once")
