"""A real Slurm: one controller and two nodes of different fake GPU types. Nodes die, jobs are cancelled, none lies."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import nbformat
import pytest
from slurm import accounting, one_machine
from test_cluster import SLOW, ZOO, slow, until

from workbench import cli, cluster
from workbench.bundling import collecting
from workbench.cluster import slurm
from workbench.results import Outcome
from workbench.store import load

ROOT = Path(__file__).parents[1]
BOTH = ("SM90", "SM100")
pytestmark = pytest.mark.slow


def skip(why):
    """In CI it is a failure."""
    (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """The one-machine Slurm, for all tests of this file. Skipped where there is none."""
    if why := one_machine.missing():
        skip(why)
    try:
        started = one_machine.Slurm(tmp_path_factory.mktemp("slurm")).__enter__()
    except RuntimeError as problem:
        skip(f"Slurm cannot be started: {problem}")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in started.variables.items():
            patch.setenv(name, value)
        yield started
        started.__exit__()


@pytest.fixture(scope="module")
def overlong(engine, tmp_path_factory):
    """A job of more than the minute that it is given, beside all other tests, for no limit is shorter."""
    folder = tmp_path_factory.mktemp("overlong")
    submit(folder / "r", slow(folder, 200, 1.0), "--time", "1", families=("SM100",))
    return folder / "r"


def submit(results, file, *more, families=BOTH, pages=False):
    """Submits a kernel file, or a bundle."""
    plan = ["--kernel-file", file, "--mode", "eager", "--python", sys.executable]
    parts = ["submit", "--cluster", "slurm", "--families", *families]
    parts += ["--bundle", file] if file.suffix == ".zip" else plan
    parts += ["--effort", "quick", "--memory-mb", "300", "--results", results, "--json", "--time", "20"]
    parts += [] if pages else ["--no-pages"]
    done = subprocess.run(
        [sys.executable, "-m", "workbench", *map(str, [*parts, *more])],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode in (0, 3), done.stderr
    return done


def newest(results):
    return cluster.submissions(results)[-1]


def wait(results, wait_s=60):
    """Until nothing is under way; then the books are closed. The exit code of `workbench collect`."""
    submission = newest(results)
    until(lambda: not any(state.under_way for state in cluster.states(submission).values()), wait_s)
    return cli.main(["collect", "--results", str(results)])


def tried(folder):
    """Trial -> its attempts at which something ran."""
    found = defaultdict(list)
    for result in load(folder):
        if result.attempt > 0:
            found[result.trial].append(result)
    return found


def reasons(results):
    return Counter(standing.result.reason for standing in load(results).trials().values())


def shown(engine, job):
    """What Slurm says of a job, by name."""
    words = engine.ask("scontrol", "-o", "show", "job", job).split()
    return dict(word.split("=", 1) for word in words if "=" in word)


def some_done(results, count=2):
    return lambda: results.is_dir() and sum(map(len, tried(results).values())) >= count


def test_each_way_to_end_comes_back_from_both_families(engine, overlong, tmp_path):
    cases = [
        dict(how=how, place=n) for n, how in enumerate(("right", "segfaults", "aborts", "hangs", "raises"))
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    submit(
        tmp_path / "r", ZOO / "misbehaving.py", "--cases", tmp_path / "cases.json", "--limit", "first_call=2"
    )
    assert wait(tmp_path / "r") == 1
    submission = newest(tmp_path / "r")
    nodes = set()
    for block in submission.blocks:
        stored = load(submission.lines(block))
        got = {t.case["how"]: (str(s.outcome), s.result.reason) for t, s in stored.trials().items()}
        assert got == {
            "right": ("ok", "ok"), "segfaults": ("crashed", "segfault_abort"), "aborts": ("crashed", "segfault_abort"),
            "hangs": ("hung", "hang_timeout"), "raises": ("failed", "unknown"),
        }  # fmt: skip
        assert {each.provenance["block"]["family"] for each in stored if each.attempt} == {block.family}
        until(lambda job=submission.jobs[block.name]: shown(engine, job)["JobState"] == "COMPLETED")
        nodes.add(shown(engine, submission.jobs[block.name])["NodeList"])
    assert nodes == {"hopper", "blackwell"}
    assert Counter(trial.gpu for trial in load(tmp_path / "r").trials()) == {  # CPUs of two nodes are two
        "cpu of SM90 node": len(cases), "cpu of SM100 node": len(cases),
    }  # fmt: skip


def test_two_hundred_trials_over_two_nodes_have_each_their_row(engine, tmp_path):
    submit(tmp_path / "r", slow(tmp_path, 100, 0.0))
    assert wait(tmp_path / "r") == 0
    submission = newest(tmp_path / "r")
    rows = [tried(submission.lines(block)) for block in submission.blocks]
    assert [len(each) for each in rows] == [100, 100]
    assert len(load(tmp_path / "r").trials()) == 200
    assert all(len(attempts) == 1 for each in rows for attempts in each.values())
    assert not load(tmp_path / "r").problems
    files = [file.relative_to(tmp_path) for file in tmp_path.rglob("*.jsonl")]
    assert len({file.parts[2] for file in files}) == 2  # no file of one block has lines of the other's node


def test_a_family_that_no_node_has_is_refused(engine, tmp_path):
    done = submit(tmp_path / "r", slow(tmp_path, 2, 0.0), families=("SM90", "SM120"))
    assert done.returncode == 3
    assert "eature" in str(json.loads(done.stdout)["refused"])
    assert wait(tmp_path / "r") == 3
    submission = newest(tmp_path / "r")
    by_family = {block.family: reasons(submission.lines(block)) for block in submission.blocks}
    assert by_family == {"SM90": {"ok": 2}, "SM120": {"refused": 2}}


def test_a_cancelled_job_keeps_what_it_has_and_a_second_submission_does_the_rest(engine, tmp_path):
    file = slow(tmp_path, 8, 0.5)
    submit(tmp_path / "r", file, families=("SM90",))
    until(some_done(tmp_path / "r"), 40)
    assert cli.main(["cancel", "--results", str(tmp_path / "r")]) == 0
    assert wait(tmp_path / "r") == 3
    words = reasons(tmp_path / "r")
    assert set(words) == {"ok", "cancelled"} and words["cancelled"] >= 1
    submit(tmp_path / "r", file, families=("SM90",))
    assert wait(tmp_path / "r") == 0
    assert reasons(tmp_path / "r") == {"ok": 8}
    assert {len(attempts) for attempts in tried(tmp_path / "r").values()} == {1}


def test_a_job_that_is_queued_again_goes_on_where_it_stopped(engine, tmp_path):
    submit(tmp_path / "r", slow(tmp_path, 8, 0.5), families=("SM100",))
    until(some_done(tmp_path / "r"), 40)
    submission = newest(tmp_path / "r")
    (job,) = submission.jobs.values()
    engine.ask("scontrol", "requeue", job)
    engine.ask(
        "scontrol", "update", f"JobId={job}", "StartTime=now"
    )  # Slurm waits two minutes, out of caution
    assert wait(tmp_path / "r", 150) == 0
    assert {len(attempts) for attempts in tried(tmp_path / "r").values()} == {1}
    starts = {file.parts[-3] for file in tmp_path.rglob("*.jsonl")}
    assert starts == {f"{job}-0", f"{job}-1"}


def urgent(engine, family, gpus):
    """A job of a partition that goes before all others."""
    asks = (
        "--partition=urgent",
        f"--constraint={family.lower()}",
        f"--gres=gpu:{gpus}",
        "--output=/dev/null",
    )
    engine.ask("sbatch", *asks, "--wrap", "sleep 1")


def test_a_job_that_makes_way_for_an_urgent_one_goes_on_later_or_is_cancelled(engine, tmp_path):
    again, never = tmp_path / "again", tmp_path / "never"
    file = slow(tmp_path, 12, 0.4)
    turns = ("--interleave", "--arms", "2", "--generations", "2")
    submit(again, slow(tmp_path, 3, 0.3, "turns.py"), *turns, families=("SM90",))
    submit(never, file, "--no-requeue", families=("SM100",))
    for results, family, gpus in ((never, "SM100", 2), (again, "SM90", 1)):
        until(some_done(results), 40)
        urgent(engine, family, gpus)
    assert wait(again) == 0
    (job,) = newest(again).jobs.values()
    assert shown(engine, job)["Restarts"] == "1"
    assert {file.parts[-3] for file in again.rglob("*.jsonl")} == {f"{job}-0", f"{job}-1"}
    assert wait(never) == 3
    assert set(reasons(never)) == {"ok", "cancelled"}
    (state,) = cluster.states(newest(never)).values()
    assert "PREEMPTED" in state.why
    submit(never, file, families=("SM100",))
    assert wait(never) == 0
    assert [len(attempts) for attempts in tried(never).values()] == [1] * 12
    made = [each for attempts in tried(again).values() for each in attempts]
    assert len({each.run for each in made}) == 1  # the comparison went on
    assert max(Counter((each.trial, each.arm, each.generation, each.visit) for each in made).values()) == 1
    whole = Counter((each.trial, each.arm) for each in made if each.visit == 2)
    assert len(whole) == 3 * 2 and min(whole.values()) >= 2


def test_a_lost_node_loses_no_result_and_is_no_crash(engine, tmp_path):
    file = slow(tmp_path, 8, 0.5)
    submit(tmp_path / "r", file, "--no-requeue", families=("SM90",))
    until(some_done(tmp_path / "r"), 40)
    engine.lose_node("hopper")
    before = {trial: attempts for trial, attempts in tried(tmp_path / "r").items()}
    try:
        assert wait(tmp_path / "r", 90) == 3
        words = reasons(tmp_path / "r")
        assert set(words) == {"ok", "node_lost"} and words["node_lost"] >= 1
    finally:
        engine.start_node("hopper")
        engine.wait_up()
    submit(tmp_path / "r", file, families=("SM90",))
    assert wait(tmp_path / "r") == 0
    after = tried(tmp_path / "r")
    assert {len(attempts) for attempts in after.values()} == {1} and len(after) == 8
    assert all(after[trial] == attempts for trial, attempts in before.items())


def test_a_controller_that_comes_back_has_lost_and_doubled_nothing(engine, tmp_path):
    submit(tmp_path / "r", slow(tmp_path, 8, 0.5))
    until(some_done(tmp_path / "r"), 40)
    engine.stop("slurmctld")
    submission = newest(tmp_path / "r")
    assert {state.engine for state in cluster.states(submission).values()} <= {"unknown", "done"}
    assert cluster.unfinished(submission, cluster.states(submission)) == 0
    engine.start("slurmctld", "-D")
    assert wait(tmp_path / "r", 90) == 0
    for block in submission.blocks:
        rows = tried(submission.lines(block))
        assert len(rows) == 8 and {len(attempts) for attempts in rows.values()} == {1}
    engine.wait_up()


def test_a_bundle_s_environments_are_built_first_and_the_pages_come_last(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "NEEDS", ())  # this machine has them
    wheels, site, notebooks = (tmp_path / name for name in ("wheels", "site", "notebooks"))
    wheels.mkdir(), notebooks.mkdir()
    with zipfile.ZipFile(wheels / "made_up-1.0-py3-none-any.whl", "w") as wheel:
        about = "made_up-1.0.dist-info"
        wheel.writestr("made_up.py", "from math import sqrt\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: made-up\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    file = tmp_path / "made.py"
    file.write_text(SLOW.format(count=2, wait_s=0.0).replace("math.sqrt", "made_up.sqrt"))
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A page\n\nIt says little.")])
    nbformat.write(page, notebooks / "00_page.ipynb")
    bundle = tmp_path / "plan.zip"
    plan = ["--kernel-file", file, "--environment", "made-up==1.0", "--wheels", wheels, "--mode", "eager"]
    assert cli.main([str(each) for each in ("bundle", *plan, "--output", bundle)]) == 0
    file.unlink(), shutil.rmtree(wheels)
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")  # the nodes are offline, and the login node is, too
    done = submit(tmp_path / "r", bundle, "--site", site, "--notebooks", notebooks, "--wait", pages=True)
    assert done.returncode == 0
    submission = newest(tmp_path / "r")
    assert "A page" in (site / "00_page.html").read_text()
    jobs = {name: shown(engine, job) for name, job in submission.jobs.items()}
    blocks = [jobs[block.name] for block in submission.blocks]
    prepared = [jobs["prepare-sm90"], jobs["prepare-sm100"]]
    assert all(first["EndTime"] <= block["StartTime"] for first, block in zip(prepared, blocks, strict=True))
    assert all(block["EndTime"] <= jobs["pages"]["StartTime"] for block in blocks)
    assert "gpu" not in jobs["pages"].get("TresPerNode", "")
    assert {str(standing.outcome) for standing in load(tmp_path / "r").trials().values()} == {Outcome.OK}


def test_a_time_limit_is_one_and_no_hang_of_the_kernel(overlong):
    assert wait(overlong, 120) == 3
    assert set(reasons(overlong)) == {"ok", "time_limit"}


def test_what_the_controller_has_forgotten_is_still_in_the_accounts(engine, overlong):
    """The last of all: the controller starts without its memory."""
    if why := one_machine.missing(accounting.NEEDED):
        skip(why)
    submission = newest(overlong)
    (job,) = submission.jobs.values()
    until(lambda: "TIMEOUT" in engine.ask("sacct", "-n", "-X", "-j", job, "-o", "State"), 120)
    engine.stop("slurmctld")
    engine.start("slurmctld", "-D", "-c")
    engine.wait_up()
    assert job not in slurm._squeue() and slurm._scontrol(job) is None
    (state,) = cluster.states(submission).values()
    assert (state.engine, "TIMEOUT" in state.why) == ("time_limit", True)
