"""The same plan on many nodes: blocks, their books, merging, and this machine's own queue. Slurm: test_slurm.py."""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest
from test_prebuilding import KERNEL as TWICE
from test_prebuilding import fake_flashinfer, fake_nvcc, ninja

from workbench import cli, cluster, environments, gpus, planning, prebuilt
from workbench.cluster import local, merging, node, places, preparing, slurm, standing
from workbench.cluster.keeping import kept
from workbench.cluster.submission import missing, new_id, open_submission, read, write
from workbench.commands import run as run_command
from workbench.results import Outcome, Result, Trial
from workbench.store import MOST_PROBLEMS, load, save, save_all

ZOO = Path(__file__).parent / "kernels"
ROOT = Path(__file__).parents[1]
GPU = gpus.Gpu("NVIDIA H200", "9.0", "GPU-a", "999.1", 140.0)
TRIAL = Trial("sqrt", {"n": 1}, "eager", "here", "NVIDIA H200")
OK = Result(TRIAL, run="r1", outcome=Outcome.OK, reason="ok", time={"samples_us": [1.0, 2.0]})
SLOW = '''"""Right, and in no hurry."""
import time
API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(n=n, wait_s={wait_s}) for n in range({count})]
def inputs(n, wait_s, seed=0):
    time.sleep(wait_s)
    return dict(number=float(n + seed))
def prepare(function, inputs):
    return lambda: [function(inputs["number"])]
def reference(inputs):
    return {{"out": [inputs["number"] ** 0.5]}}
def cost(n, wait_s):
    return dict(bytes=0, flops=0, unit="bf16")
'''


def slow(folder, count=6, wait_s=0.3, name="slow.py"):
    (folder / name).write_text(SLOW.format(count=count, wait_s=wait_s))
    return folder / name


def plan_options(*arguments, python=sys.executable):
    parser = argparse.ArgumentParser()
    run_command.arguments(parser)
    first = ["--python", python] if python else []
    return vars(parser.parse_args([*first, "--mode", "eager", *map(str, arguments)]))


def submitted(results, *files, engine="local", families=("SM90",), most=500, more=()):
    options = plan_options(*(part for file in files for part in ("--kernel-file", file)), *more)
    kernels = run_command._kernels(argparse.Namespace(**options))
    here = environments.parse("here", sys.executable)
    places = cluster.read_places(None, list(families))
    found = cluster.blocks(options, kernels, [here, replace(here, name="other")], places, most)
    return cluster.Submission(new_id(results), results, engine, found)


# Blocks and places


def test_a_large_plan_is_split_by_kernel_and_never_by_environment(tmp_path):
    files = [slow(tmp_path, 4, name=f"k{n}.py") for n in range(3)]
    blocks = submitted(tmp_path, *files, families=("SM90", "SM100"), most=17).blocks
    assert [block.family for block in blocks] == ["SM90", "SM90", "SM100", "SM100"]
    assert [len(block.options["kernel_file"]) for block in blocks] == [2, 1, 2, 1]
    for block in blocks:
        sides = Counter(each["trial"]["environment"] for each in block.trials)
        assert len(sides) == 2 and len(set(sides.values())) == 1
    assert submitted(tmp_path, *files, most=1).blocks[0].trials  # one kernel is never cut


def test_the_same_work_has_the_same_name_and_other_work_another(tmp_path):
    file = slow(tmp_path)
    first, again = (submitted(tmp_path, file).blocks[0].name for _ in range(2))
    slow(tmp_path, wait_s=0.4)
    assert first == again != submitted(tmp_path, file).blocks[0].name


def test_trials_on_the_cpus_of_two_families_are_two(tmp_path):
    first, second = submitted(tmp_path, slow(tmp_path, 2), families=("SM90", "SM100")).blocks
    assert {each["trial"]["gpu"] for each in first.trials} == {"cpu of SM90 node"}
    assert {each["trial"]["gpu"] for each in second.trials} == {"cpu of SM100 node"}


def test_an_edit_after_the_submission_reaches_no_job_and_a_job_has_the_cases_of_its_kernels(tmp_path):
    files = [slow(tmp_path, 2, name=f"{name}.py") for name in "ab"]
    (tmp_path / "_shared.py").write_text("")
    (tmp_path / "part.py").write_text("")
    files[0].write_text(files[0].read_text() + "\nfrom . import part\n")  # a kernel that is made of another
    cases = {name: [dict(n=n, wait_s=0) for n in range(3)] for name in "ab"}
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    blocks = submitted(tmp_path, *files, more=("--cases", tmp_path / "cases.json"), most=1).blocks
    assert len(blocks) == 2
    stay = [kept(block, tmp_path / "kept" / block.name) for block in blocks]
    for file in (*files, tmp_path / "part.py", tmp_path / "cases.json"):
        file.write_text("edited")
    for block in stay:
        options = preparing.options_of(block)
        here = environments.parse("here", sys.executable)
        planned = planning.plan(
            run_command._kernels(options), [here, replace(here, name="other")], ["eager"], None, block.cpu
        )
        mine = [{"trial": asdict(each.trial), "kernel_hash": each.kernel.hash} for each in planned]
        assert mine == block.trials and len(mine) == 6


def test_one_plan_file_serves_a_run_and_a_submission(tmp_path, capsys):
    plan = {"kernel_file": [str(slow(tmp_path, 3))], "python": sys.executable, "mode": ["eager"]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    words = ["--plan", str(tmp_path / "plan.json"), "--dry-run", "--json"]
    assert cli.main(["run", *words]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3
    assert cli.main(["submit", "--cluster", "slurm", "--families", "SM90", "SM100", *words]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["family"], row["trials"]) for row in rows] == [("SM90", 3), ("SM100", 3)]
    (tmp_path / "plan.json").write_text(json.dumps({**plan, "plan": "other.json"}))
    assert cli.main(["run", *words]) == 2
    assert "has 'plan'" in capsys.readouterr().err


def test_families_that_are_only_compiled_for_need_no_cluster(tmp_path, capsys):
    words = ["--kernel", "mxfp4_swiglu", "--environment", "triton==3.6.0", "--sm", "90"]
    assert cli.main(["submit", "--cluster", "local", "--results", str(tmp_path), *words]) == 2
    assert "workbench run --sm" in capsys.readouterr().err


@ninja
@pytest.mark.slow
def test_modules_are_compiled_ahead_once_a_family_and_its_jobs_find_them(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    fake_flashinfer(tmp_path / "wheels")
    (tmp_path / "twice.py").write_text(TWICE)
    monkeypatch.setenv("PATH", str(fake_nvcc(tmp_path).parent), prepend=os.pathsep)
    words = (
        "--kernel-file",
        tmp_path / "twice.py",
        "--environment",
        "flashinfer==0.0.1",
        "--wheels",
        "wheels",
    )
    options = plan_options(*words, python=None)
    made = run_command._kernels(argparse.Namespace(**options))
    given = run_command._environments(argparse.Namespace(**options))
    (block,) = cluster.blocks(options, made, given, cluster.read_places(None, ["SM90"]))
    specs = ["no-such-thing==1", *options["environment"]]  # what cannot be built is told, and ends nothing
    preparing.prepare([replace(block, options={**options, "environment": specs})])
    said = capfd.readouterr().out
    assert "no-such-thing" in said and "twice_9 of flashinfer 0.0.1: made, 1 of 1 objects" in said
    folder = preparing.modules_of(preparing.options_of(block))
    assert list(prebuilt.modules(Path(folder), "0.0.1", "9.0", tmp_path / "u")) == ["twice_9"]
    preparing.prepare([replace(block, options={**options, "no_build": True})])
    assert "twice_9" not in capfd.readouterr().out


def test_blocks_of_a_family_that_cannot_be_prepared_are_refused(tmp_path, monkeypatch):
    submission = replace(submitted(tmp_path, slow(tmp_path), engine="slurm"), site="site")
    for block in submission.blocks:
        block.options["environment"] = ["made-up==1.0"]

    def refuse(command, place, *_):
        raise slurm.Refused("Invalid partition name specified")

    monkeypatch.setattr(slurm, "check", lambda: None)
    monkeypatch.setattr(slurm, "submit", refuse)
    cluster.submit(
        submission, cluster.read_places(None, ["SM90"]), places.cpu_place(None), say=lambda _: None
    )
    (state,) = cluster.states(submission).values()
    assert state.engine == "refused" and "prepare-sm90 is refused: Invalid partition" in state.why
    assert not submission.jobs and cluster.pages(submission).engine == "refused"


def test_a_constraint_map_says_how_to_ask(tmp_path):
    file = tmp_path / "site.toml"
    file.write_text(
        '[sm90]\nconstraint = "h100|h200"\ngpu = "NVIDIA H200"\naccount = "team"\ntime = 30\n'
        '[SM100]\ngres = ""\narch = "10.3a"\n'
    )
    hopper, blackwell = cluster.read_places(file, [], partition="gpus")
    assert (hopper.family, hopper.gpu, hopper.time_min) == ("SM90", "NVIDIA H200", 30)
    assert hopper.asked == {
        "constraint": "h100|h200", "gres": "gpu:1", "account": "team", "partition": "gpus",
    }  # fmt: skip
    assert (hopper.arch, blackwell.arch) == ("9.0a", "10.3a")
    assert blackwell.asked == {"constraint": "sm100", "partition": "gpus"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x", "TOML"), ("a = 1", "tables"), ("[H100]\n", "family"), ("[SM90]\ngres = [1]", "one text"),
        ("[SM90]\ntime = 'long'", "minutes"), ("[SM90]\n'a b' = 1", "one text"), ('[SM90]\nqos = "a\\nb"', "line"),
        ("[SM90]\narch = 'hopper'", "9.0a"),
    ],
)  # fmt: skip
def test_a_constraint_map_that_is_none_is_told(tmp_path, text, says):
    (tmp_path / "site.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        cluster.read_places(tmp_path / "site.toml", [])


def test_families_must_be_said():
    with pytest.raises(ValueError, match="--families"):
        cluster.read_places(None, [])


# What the engine says, and what becomes of it


@pytest.mark.parametrize(
    ("word", "reason", "engine"),
    [
        ("RUNNING", "None", "running"), ("PENDING", "Resources", "waiting"), ("REQUEUED", "", "waiting"),
        ("PENDING", "BadConstraints", "refused"), ("CANCELLED", "None", "cancelled"), ("NODE_FAIL", "", "node_lost"),
        ("TIMEOUT", "TimeLimit", "time_limit"), ("PREEMPTED", "", "cancelled"),
        ("FAILED", "NonZeroExitCode", "not_run"),
        ("COMPLETED", "None", "not_run"), ("A_NEW_WORD", "", "waiting"),
    ],
)  # fmt: skip
def test_words_of_slurm(tmp_path, monkeypatch, word, reason, engine):
    submission = submitted(tmp_path, slow(tmp_path), engine="slurm")
    (block,) = submission.blocks
    submission.jobs[block.name] = "7"
    monkeypatch.setattr(slurm, "ask", lambda jobs: {"7": (word, reason)})
    assert cluster.states(submission)[block.name].engine == engine


def test_a_job_that_left_its_results_is_not_asked_about(tmp_path, monkeypatch):
    submission = submitted(tmp_path, slow(tmp_path), engine="slurm")
    (block,) = submission.blocks
    write(submission.mark("ended", block.name), {"job": "7"})
    monkeypatch.setattr(slurm, "ask", lambda jobs: pytest.fail("the engine was asked"))
    assert cluster.states(submission)[block.name].engine == "done"


def test_an_engine_that_is_silent_makes_no_line(tmp_path, monkeypatch):
    submission = submitted(tmp_path, slow(tmp_path), engine="slurm")
    monkeypatch.setattr(slurm, "_call", lambda *command: None)
    states = cluster.states(submission)
    assert [state.engine for state in states.values()] == ["unknown"]
    assert cluster.unfinished(submission, states) == 0
    assert not list(tmp_path.rglob("*.jsonl"))


def test_nothing_counts_as_cancelled_while_the_engine_is_silent(tmp_path, monkeypatch, capsys):
    submission = submitted(tmp_path, slow(tmp_path), engine="slurm")
    submission.jobs[submission.blocks[0].name] = "7"
    submission.save()
    monkeypatch.setattr(slurm, "_call", lambda *command: None)
    assert cli.main(["cancel", "--results", str(tmp_path)]) == 2
    assert "Slurm cannot be asked" in capsys.readouterr().err
    assert not submission.cancelled


def test_what_a_lost_job_did_not_bring_is_not_run_until_another_brings_it(tmp_path):
    submission = submitted(tmp_path, slow(tmp_path, 3), engine="slurm")
    (block,) = submission.blocks
    first = Trial(**block.trials[0]["trial"])
    save(replace(OK, trial=first), submission.lines(block) / "7-0" / "cpu" / "here.jsonl")
    lost = {block.name: cluster.State(standing.Engine.LOST, "Slurm says NODE_FAIL", "7")}
    assert cluster.unfinished(submission, lost) == cluster.unfinished(submission, lost) == 5
    trials = load(tmp_path).trials()
    assert trials[first].outcome == Outcome.OK
    assert {s.result.reason for t, s in trials.items() if t != first} == {"node_lost"}
    assert {s.outcome for t, s in trials.items() if t != first} == {Outcome.NOT_RUN}
    for each in missing(submission, block):
        save(
            replace(OK, trial=Trial(**each["trial"])), submission.lines(block) / "8-0" / "cpu" / "here.jsonl"
        )
    assert cluster.unfinished(submission, lost) == 0
    assert {standing.outcome for standing in load(tmp_path).trials().values()} == {Outcome.OK}


def test_a_mark_is_whole_or_not_there(tmp_path):
    (tmp_path / "half.json").write_text('{"job": ')
    assert read(tmp_path / "half.json") == read(tmp_path / "none.json") == {}


# The node


@pytest.mark.parametrize(
    ("visible", "index"), [("", 0), ("0", 0), ("2,3", 2), ("GPU-b", 1), ("GPU-none", 3)]
)  # past the last: no GPU
def test_the_gpu_that_was_allotted_is_used_and_not_the_first(monkeypatch, visible, index):
    there = [replace(GPU, uuid=f"GPU-{letter}") for letter in "abc"]
    monkeypatch.setattr(node.gpus, "here", lambda n: there[n] if n < 3 else None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert node.visible_gpu() == index


def test_a_node_of_another_family_measures_nothing(tmp_path):
    block = replace(submitted(tmp_path, slow(tmp_path)).blocks[0], on_gpu=True)
    assert node.unfit(block, GPU) == ""
    assert "NVIDIA B200, and SM90" in node.unfit(block, replace(GPU, name="NVIDIA B200", sm="10.0"))
    assert "no GPU" in node.unfit(block, None)
    assert node.unfit(replace(block, on_gpu=False), None) == ""


def test_whoever_comes_second_knows_that_another_may_be_at_work(tmp_path, monkeypatch):
    monkeypatch.setattr(node, "LOCK_WAIT_S", 0.3)
    with node.alone(tmp_path / "b") as first, node.alone(tmp_path / "b") as second:
        assert (first, second) == (True, False)


# Merging


def merged(tmp_path, mine, theirs):
    for folder, results in (("mine", mine), ("theirs", theirs)):
        (tmp_path / folder).mkdir(exist_ok=True)
        for result in results:
            save(result, tmp_path / folder / "any.jsonl")
    return cluster.merge([tmp_path / "theirs"], tmp_path / "mine")


def test_two_merges_at_once_add_each_line_once(tmp_path, monkeypatch):
    theirs = [replace(OK, run="r2", attempt=attempt) for attempt in range(1, 6)]
    save_all(theirs, tmp_path / "theirs" / "any.jsonl")
    monkeypatch.setattr(merging, "load", lambda folder: (load(folder), time.sleep(0.2))[0])
    with ThreadPoolExecutor() as both:
        made = list(both.map(lambda _: cluster.merge([tmp_path / "theirs"], tmp_path / "mine"), range(3)))
    assert sorted((each.added, each.known) for each in made) == [(0, 5), (0, 5), (5, 0)]
    (file,) = (tmp_path / "mine").rglob("*.jsonl")
    assert len(file.read_text().splitlines()) == 5
    assert [each.name for each in (tmp_path / "mine").iterdir()] == [file.parent.name]


def test_a_colleagues_lines_keep_their_provenance_and_come_once(tmp_path):
    about = {
        "environment": {"hash": "abcdef0123", "name": "here"},
        "gpu": {"uuid_hash": "77", "name": "H200"},
    }
    theirs = [replace(OK, run="r2", provenance=about), replace(OK, run="r2", attempt=2, provenance=about)]
    assert merged(tmp_path, [OK], theirs).added == 2
    again = merged(tmp_path, [], [])
    assert (again.added, again.known, again.conflicts) == (0, 2, [])
    assert [each.provenance for each in load(tmp_path / "mine") if each.run == "r2"] == [about, about]
    assert (tmp_path / "mine" / "nvidia-h200-77" / "here-abcdef01.jsonl").is_file()


def test_the_lines_of_a_plan_come_into_the_file_of_their_run(tmp_path):
    about = {"environment": {"hash": "abcdef0123", "name": "here"}}
    planned = replace(OK, outcome=Outcome.NOT_RUN, reason="not_run", attempt=0, time={}, provenance=about)
    done = replace(OK, provenance={**about, "gpu": {"uuid_hash": "77", "name": "H200"}})
    merged(tmp_path, [], [planned, done])
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["nvidia-h200-77"]
    assert len(load(tmp_path / "mine" / "nvidia-h200-77")) == 2


@pytest.mark.parametrize("what", ["trial", "run", "arm", "generation", "visit", "attempt"])
def test_each_part_of_what_an_attempt_is_known_by_tells_two_apart(tmp_path, what):
    other = {
        "trial": replace(TRIAL, mode="graph"),
        "run": "r2",
        "arm": "b",
        "generation": 1,
        "visit": 1,
        "attempt": 2,
    }
    found = merged(tmp_path, [OK], [OK, replace(OK, **{what: other[what]})])
    assert (found.added, found.known) == (1, 1)


def test_two_that_contradict_each_other_are_shown_and_the_first_stays(tmp_path, capsys):
    wrong = replace(OK, outcome=Outcome.WRONG, reason="wrong_numbers", time={})
    for folder, result in (("mine", OK), ("theirs", wrong)):
        save(result, tmp_path / folder / "any.jsonl")
    code = cli.main(["collect", str(tmp_path / "theirs"), "--into", str(tmp_path / "mine")])
    assert code == 1
    said = capsys.readouterr().out
    assert "kept ok (ok)" in said and "has wrong (wrong_numbers)" in said and "outcome" in said
    assert [each.outcome for each in load(tmp_path / "mine")] == [Outcome.OK]


def test_refused_lines_are_counted_and_cost_no_other(tmp_path, capsys):
    file = tmp_path / "theirs" / "any.jsonl"
    save(OK, file)
    with file.open("a") as opened:
        opened.write('not json\n{"schema": 99}\n' + "{}\n" * MOST_PROBLEMS)
    save(replace(OK, attempt=2), file)
    theirs = ["collect", str(tmp_path / "theirs"), "--into", str(tmp_path / "mine")]
    assert cli.main(theirs) == 1
    said = capsys.readouterr()
    assert f"2 lines added to {tmp_path / 'mine'}" in said.out and "22 lines refused" in said.out
    assert "any.jsonl:2" in said.err and "schema 99 is newer" in said.err
    assert len(load(tmp_path / "mine")) == 2
    assert cli.main([*theirs, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert (facts["added"], facts["known"], facts["refused"]) == (0, 2, 22)


@pytest.mark.parametrize("hash_", ["\0", "\ud800", "/../../x", "a/b"])
def test_what_stands_for_a_hash_names_no_place(tmp_path, hash_):
    theirs = replace(OK, run="r2", provenance={"environment": {"hash": hash_}})
    assert merged(tmp_path, [], [theirs, OK]).added == 2
    assert {
        len(each.relative_to(tmp_path / "mine").parts) for each in (tmp_path / "mine").rglob("*.jsonl")
    } == {2}


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "theirs" / "any.jsonl").mkdir(parents=True)
    assert merged(tmp_path, [], []).refused == 1


def test_a_folder_within_the_other_is_not_merged_into_it(tmp_path):
    save(OK, tmp_path / "mine" / "blocks" / "any.jsonl")
    with pytest.raises(ValueError, match="already"):
        cluster.merge([tmp_path / "mine" / "blocks"], tmp_path / "mine")
    with pytest.raises(ValueError, match="twice"):
        cluster.merge([tmp_path / "mine"], tmp_path / "mine" / "more")


# This machine's own queue


def submit(results, file, *more):
    parts = [
        "submit",
        "--cluster",
        "local",
        "--families",
        "SM90",
        "--kernel-file",
        file,
        "--python",
        sys.executable,
    ]
    parts += ["--mode", "eager", "--effort", "quick", "--results", results, "--no-pages", "--json", *more]
    return subprocess.run(
        [sys.executable, "-m", "workbench", *map(str, parts)], capture_output=True, text=True, cwd=ROOT
    )


def until(true, wait_s=30):
    last = time.monotonic() + wait_s
    while not true():
        assert time.monotonic() < last
        time.sleep(0.05)


def attempts(results):
    return Counter(result.trial.label for result in load(results) if result.attempt > 0)


def test_two_submissions_take_turns_and_a_third_of_the_same_is_refused(tmp_path):
    first, second = slow(tmp_path, 2, 0.2, "a.py"), slow(tmp_path, 2, 0.2, "b.py")
    assert submit(tmp_path / "r", first).returncode == 0
    twin = submit(tmp_path / "r", first)
    assert (twin.returncode, "under way" in twin.stderr) == (2, True)
    done = submit(tmp_path / "r", second, "--wait")
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = cluster.submissions(tmp_path / "r")
    until(lambda: not local.alive(one.queue))
    marks = [
        (read(each.mark("started", block.name)), each.ended(block))
        for each in (one, two)
        for block in each.blocks
    ]
    spans = sorted((start["at"], start["at"] + end["wall_s"]) for start, end in marks)
    assert spans[0][1] <= spans[1][0]
    assert set(attempts(tmp_path / "r").values()) == {2}  # the cases of both files have the same labels
    about = [each.provenance["block"]["family"] for each in load(tmp_path / "r") if each.attempt]
    assert set(about) == {"SM90"}


def test_cancelled_and_submitted_again_it_goes_on(tmp_path):
    file = slow(tmp_path, 6, 0.3)
    submit(tmp_path / "r", file)
    until(lambda: attempts(tmp_path / "r"))
    assert cli.main(["cancel", "--results", str(tmp_path / "r")]) == 0
    (submission,) = cluster.submissions(tmp_path / "r")
    until(lambda: not local.alive(submission.queue))
    assert cli.main(["collect", "--results", str(tmp_path / "r")]) == 3
    words = Counter(standing.result.reason for standing in load(tmp_path / "r").trials().values())
    assert set(words) == {"ok", "cancelled"}
    assert submit(tmp_path / "r", file, "--wait").returncode == 0
    assert list(attempts(tmp_path / "r").values()) == [1] * 6
    assert {standing.outcome for standing in load(tmp_path / "r").trials().values()} == {Outcome.OK}


def test_a_queue_that_was_killed_is_lost_and_nothing_is_called_a_crash(tmp_path):
    file = slow(tmp_path, 4, 0.5)
    submit(tmp_path / "r", file)
    until(lambda: attempts(tmp_path / "r"))
    (submission,) = cluster.submissions(tmp_path / "r")
    queue = psutil.Process(submission.queue["pid"])
    for process in [queue, *queue.children(recursive=True)]:
        process.kill()
    until(lambda: not local.alive(submission.queue))
    (state,) = cluster.states(submission).values()
    assert state.engine == "node_lost"
    cluster.unfinished(submission, cluster.states(submission))
    words = {standing.result.reason for standing in load(tmp_path / "r").trials().values()}
    assert words == {"ok", "node_lost"}


def test_a_job_that_fails_in_a_queue_that_goes_on_is_no_lost_node(tmp_path):
    """A full disk, say. The pages are made nevertheless."""
    submission = replace(submitted(tmp_path, slow(tmp_path, 1, 0.0)), site="site")
    (block,) = submission.blocks
    submission.queue = {"pid": os.getpid(), "created": psutil.Process().create_time()}
    write(submission.mark("started", block.name), {})
    write(submission.mark("failed", block.name), {"returncode": 1})
    (state,) = cluster.states(submission).values()
    assert (state.engine, f"log/{block.name}.out" in state.why) == ("not_run", True)
    assert cluster.pages(submission).engine == "waiting"
    write(submission.mark("ended", "pages"), {"job": "1"})
    assert cluster.pages(submission).engine == "done"


def test_a_family_that_is_not_here_is_refused_and_its_trials_are_not_run(tmp_path):
    done = submit(tmp_path / "r", ZOO / "absent.py", "--dry-run")
    assert [each["trials"] for each in json.loads(done.stdout)] == [1]
    gpu = tmp_path / "gpu_only.py"
    gpu.write_text((ZOO / "absent.py").read_text().replace('("cpu",)', '("cuda",)'))
    done = submit(tmp_path / "r", gpu, "--wait")
    assert done.returncode == 3
    (standing_,) = load(tmp_path / "r").trials().values()
    assert (standing_.result.reason, standing_.result.trial.gpu) == ("refused", "SM90")


def test_a_worker_killed_from_outside_waits_for_what_may_come_for_us(tmp_path):
    """An engine ends the processes of a job one by one; a trial whose worker goes first is not a crash."""
    file = slow(tmp_path, 2, 3.0)
    code = f"""
import signal, sys
from workbench import environments, planning, runner
signal.signal(signal.SIGTERM, signal.default_int_handler)
planned = planning.plan(
    [planning.from_file({str(file)!r})], [environments.parse("here", sys.executable)], ["eager"], None)
from pathlib import Path
print(runner.run(planned, None, runner.Options(Path({str(tmp_path / "r")!r}), quiet=True, patience_s=3.0)).stopped)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    until(lambda: any(is_worker(child) for child in children(process)))
    time.sleep(1)
    for child in children(process):
        child.send_signal(signal.SIGTERM)
    time.sleep(0.7)
    os.kill(process.pid, signal.SIGTERM)
    assert "interrupted" in process.communicate(timeout=20)[0]
    assert not attempts(tmp_path / "r")


def children(process):
    """Those that are no zombies."""
    found = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if child.cmdline():
                    found.append(child)
    return found


def is_worker(process):
    with contextlib.suppress(psutil.Error):
        return "start.py" in " ".join(process.cmdline())
    return False


def test_a_torn_submission_is_named(tmp_path):
    file = tmp_path / "submission.json"
    file.write_text('{"blocks": [')
    with pytest.raises(ValueError, match=r"submission\.json is torn"):
        open_submission(file)
