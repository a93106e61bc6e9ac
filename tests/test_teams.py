"""Several ranks as one worker: who goes first, who is blamed, who is ended; then with real processes over gloo."""

import contextlib
import os
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from workbench import environments, gpus, locks, planning, records, runner, teams
from workbench.crew import Crew
from workbench.ends import Size
from workbench.options import Options
from workbench.progress import Progress
from workbench.results import Outcome
from workbench.store import load
from workbench.teams import Team
from workbench.workers import Told

ZOO = Path(__file__).parent / "kernels" / "ranked.py"
RIGHT = {"right": True, "error": 0.0}
LOST = {"type": "RuntimeError", "message": "[..] Connection closed by peer [127.0.0.1]:4711"}
BAD = {"type": "ValueError", "message": "these shares are of no use"}


class Rank:
    """Stands for a worker: tells some stages, then ends as it is told to, or waits until it is stopped."""

    def __init__(self, variables, told, stages=("import", "prepare"), after=None):
        self.variables, self.told, self.stages, self.after = variables, told, stages, after
        self.stopped, self.ended, self.calls, self.done = threading.Event(), False, 0, threading.Event()

    def run(self, command, limits_s, heard=lambda facts: None):
        self.calls += 1
        for stage in self.stages:
            heard({"stage": stage})
        if self.after:
            assert self.after.done.wait(5)
            time.sleep(0.05)
        if self.told is None:
            assert self.stopped.wait(5)
            return Told(stage=self.stages[-1], worker_over=True)
        self.done.set()
        return self.told

    def stop(self):
        self.stopped.set()

    def close(self, limit_s=1.0):
        return self.told

    def kill(self):
        self.ended = True


def done(median_us=1.0, check=RIGHT):
    return Told(stage="done", end="done", facts={"check": check, "time": {"median_us": median_us}})


def raised(exception, stage="first_call"):
    return Told(stage=stage, end="exception", facts={"exception": exception}, worker_over=True)


def died(code, stage="first_call", stderr=""):
    return Told(stage=stage, code=code, stderr=stderr, worker_over=True)


def hung(stage="first_call"):
    return Told(stage=stage, killed="limit", worker_over=True)


@pytest.fixture(autouse=True)
def meeting_place(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def team(monkeypatch):
    """A team of stand-ins: `team(told of rank 0, told of rank 1, ...)`."""
    monkeypatch.setattr(teams, "GRACE_S", 0.2)

    def made(*tolds, size=None, **of_all):
        tolds = list(tolds)
        return Team(lambda more: Rank(more, tolds.pop(0), **of_all), size or Size(len(tolds)))

    return made


def test_each_rank_knows_who_it_is_and_all_meet_in_one_place(team):
    ours = team(done(), done(), done(), size=Size(2, bystanders=1))
    variables = [worker.variables for worker in ours.workers]
    assert [each["RANK"] for each in variables] == ["0", "1", "2"]
    assert {each["WORLD_SIZE"] for each in variables} == {"3"}
    assert {each["WORKBENCH_RANKS"] for each in variables} == {"2"}
    (meeting,) = {each["WORKBENCH_MEETING"] for each in variables}
    other = team(done(), done()).workers[0].variables["WORKBENCH_MEETING"]
    assert meeting.startswith("file:///") and meeting != other


def test_the_time_is_that_of_the_slowest(team):
    told = team(done(2.0), done(5.0), done(3.0)).run({})
    assert told.facts["time"] == {"median_us": 5.0, "by_rank": {"median_us": [2.0, 5.0, 3.0]}}
    assert (told.end, told.worker_over, told.who) == ("done", False, "")


def test_a_bystander_has_no_part_in_it(team):
    told = team(done(2.0), done(3.0), Told(stage="done", end="done"), size=Size(2, 1)).run({})
    assert told.facts["time"]["by_rank"] == {"median_us": [2.0, 3.0]} and told.facts["check"] == RIGHT


def test_nobody_is_called_before_rank_0_has_built(team):
    ours = team(raised(BAD, "build"), done(), stages=("import", "find", "build"))
    told = ours.run({})
    assert [worker.calls for worker in ours.workers] == [1, 0]
    assert told.worker_over and told.who == "rank 0 of 2"


def test_an_import_that_fails_leaves_the_team_warm(team):
    ours = team(Told(stage="import", end="exception", facts={"exception": BAD}), done(), stages=("import",))
    assert not ours.run({}).worker_over
    assert not any(worker.ended for worker in ours.workers)


def test_who_waits_for_ever_is_ended_with_the_one_that_failed(team):
    ours = team(None, died(-11))
    told = ours.run({})
    assert (told.code, told.who, told.worker_over) == (-11, "rank 1 of 2", True)
    assert ours.workers[0].stopped.is_set() and all(worker.ended for worker in ours.workers)


@pytest.mark.parametrize(
    "lost", [raised(LOST), died(-6, stderr="NCCL error: remote process exited, ncclRemoteError")]
)
@pytest.mark.parametrize("cause", [died(-11), died(0), raised(BAD)])
def test_the_blame_is_on_the_cause_though_who_lost_it_ended_first(team, lost, cause):
    ours = team(lost, cause)
    ours.workers[1].after = ours.workers[0]
    told = ours.run({})
    assert told.who == "rank 1 of 2" and (told.code, told.facts) == (cause.code, cause.facts)


MESH = "Gloo connectFullMesh failed with Connection refused [127.0.0.1]:4711"
WAITS = "[W] socket: the connection was refused, retrying"


@pytest.mark.parametrize("message", [LOST["message"], MESH, "a word of theirs that nobody knows"])
@pytest.mark.parametrize("stderr", ["", WAITS])
def test_a_rank_that_was_killed_is_judged_by_its_own_end(team, message, stderr):
    lost = replace(raised({**LOST, "message": message}), stderr=message)
    ours = team(lost, died(-9, "prepare", stderr))
    ours.workers[1].after = ours.workers[0]
    told = ours.run({})
    assert (told.who, told.code, told.own["stderr"]) == ("rank 1 of 2", -9, "")
    assert message in told.stderr
    crew = Crew(None, Options(Path("unused")), Progress(1, quiet=True))
    judgement = crew.judged(planned(dict(ranks=2, how="right", place=0), "cpu"), told, BUILT_OF_NOTHING)
    assert (judgement.outcome, judgement.reason) == (Outcome.OUT_OF_MEMORY, "oom_host")
    assert judgement.detail.startswith("rank 1 of 2: prepare: killed by SIGKILL")


def test_who_lost_another_and_aborts_is_not_the_cause(team):
    aborts = died(-6, stderr=f"terminate called: {MESH}")
    assert team(aborts, died(-11, stderr=WAITS)).run({}).who == "rank 1 of 2"


def test_what_a_rank_says_of_itself_is_judged_without_the_others_words(team):
    out_of_memory = replace(raised(LOST), stderr="CUDA out of memory")
    told = team(out_of_memory, replace(raised(BAD), stderr="ValueError: of no use")).run({})
    assert told.own["stderr"] == "ValueError: of no use" and "CUDA out of memory" in told.stderr


def test_of_two_causes_the_first_in_time_is_told(team):
    ours = team(raised(BAD), died(-11))
    ours.workers[0].after = ours.workers[1]
    assert ours.run({}).who == "rank 1 of 2"


def test_a_rank_that_hung_where_the_others_waited_cannot_be_told_from_them(team):
    assert team(hung(), hung(), done(), size=Size(2, 1)).run({}).who == "ranks 0, 1 of 3"


def test_who_hung_in_an_earlier_stage_is_named(team):
    ours = team(hung("first_call"), None, stages=("import", "prepare"))
    told = ours.run({})
    assert told.killed == "limit"
    assert told.who == "rank 0 of 2, while rank 1 was in prepare"


def test_a_hang_is_the_cause_of_a_lost_connection(team):
    assert team(raised(LOST), hung()).run({}).who == "rank 1 of 2"


def test_a_wrong_answer_of_one_rank_is_the_trials(team):
    told = team(done(), done(check={"right": False})).run({})
    assert told.who == "rank 1 of 2" and told.facts["check"] == {"right": False} and not told.worker_over


def test_what_all_refuse_is_said_by_nobody_and_ends_nothing(team):
    refused = Told(stage="prepare", end="stopped", facts={"stopped": {"reason": "no_kernel_for_config"}})
    told = team(refused, refused).run({})
    assert (told.who, told.worker_over) == ("", False)
    told = team(None, refused).run({})
    assert (told.who, told.worker_over, told.end) == ("rank 1 of 2", True, "stopped")


def test_what_was_printed_starts_with_the_rank_that_failed(team):
    told = team(raised(LOST), died(-11, stderr="its last words")).run({})
    assert told.stderr.startswith("[rank 1]\nits last words")


def test_an_interrupt_ends_all(team, monkeypatch):
    ours = team(None, None)
    monkeypatch.setattr(Team, "_watched", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ours.run({})
    assert all(worker.ended for worker in ours.workers)


def test_a_bad_end_of_one_rank_is_told_as_the_end():
    tolds = [Told(code=0), Told(code=-11)]
    assert Team(lambda more: Rank(more, tolds[int(more["RANK"])]), Size(2)).close().code == -11


# Plans and cards

CARD = gpus.Gpu("NVIDIA H200", "9.0", "GPU-a", "999.1", 140.0)
HERE = environments.parse("here", sys.executable)
BUILT = SimpleNamespace(environment=HERE)
BUILT_OF_NOTHING = SimpleNamespace(inherited={}, packages={}, lacks={})


def planned(case, device="cuda"):
    kernel = planning.from_file(ZOO, [case])
    trial = planning.Trial("ranked", case, "eager", "here", CARD.name)
    return planning.Planned(trial, kernel, HERE, device)


@pytest.mark.parametrize(
    "bad", [dict(ranks=0), dict(ranks="2"), dict(ranks=True), dict(ranks=2, bystanders=-1)]
)
def test_ranks_are_counted_in_whole_numbers(bad):
    with pytest.raises(ValueError, match="whole number"):
        planning.from_file(ZOO, [{"how": "right", "place": 0, **bad}])


def test_too_few_cards_put_a_trial_off(monkeypatch):
    monkeypatch.setattr(environments, "changed", lambda built: "")
    crew = Crew(CARD, Options(Path("unused")), Progress(1, quiet=True))
    case = dict(ranks=2, how="right", place=0)
    assert crew._why_not(planned(case), BUILT, fresh=True) == "2 GPUs are needed, 1 is here"
    assert planned(case).size == Size(2) and planned(dict(case, bystanders=1)).size == Size(2, 1)
    two = Crew(CARD, Options(Path("unused")), Progress(1, quiet=True), [CARD])
    assert not two._why_not(planned(case), BUILT, fresh=True)


def test_the_cards_beside_the_first_are_of_its_model(monkeypatch):
    def card(index):
        names = ["NVIDIA H200", "NVIDIA T4", "NVIDIA H200", "NVIDIA H200"]
        return gpus.Gpu(names[index], "9.0", f"GPU-{index}", "1", 1.0) if index < len(names) else None

    monkeypatch.setattr(gpus, "here", card)
    assert [each.uuid for each in gpus.beside(2, 2)] == ["GPU-3", "GPU-0"]
    assert gpus.beside(1, 2) == [] and gpus.beside(9, 1) == []


class Driver:
    """Looks like NVML: two cards with 18 links each, of which `reached` says whether the pair may use them."""

    NVML_P2P_CAPS_INDEX_NVLINK, NVML_P2P_STATUS_OK, NVML_NVLINK_MAX_LINKS = 2, 0, 20
    NVMLError = RuntimeError

    def __init__(self, reached):
        self.reached = reached

    def nvmlDeviceGetHandleByUUID(self, uuid):
        return uuid

    def nvmlDeviceGetP2PStatus(self, one, other, index):
        assert one != other
        return 0 if self.reached else 5

    def nvmlDeviceGetNvLinkState(self, card, link):
        if link >= 18:
            raise RuntimeError("no such link")
        return 1


@pytest.mark.parametrize("reached", [True, False])
def test_a_result_names_all_cards_and_how_they_are_linked(monkeypatch, reached):
    monkeypatch.setitem(sys.modules, "pynvml", Driver(reached))
    two = [CARD, replace(CARD, uuid="GPU-b")]
    assert gpus.links(two) == {"nvlink": reached, "links": 18}
    facts = records._cards(two)
    assert facts["gpus"] == [card.uuid_hash for card in two] and facts["topology"]["nvlink"] is reached
    assert records._cards([CARD]) == {}


def test_all_cards_of_a_run_are_locked(monkeypatch, tmp_path):
    other, held = replace(CARD, uuid="GPU-b"), []

    @contextlib.contextmanager
    def hold(name, *how):
        held.append(name)
        yield

    monkeypatch.setattr(locks, "hold", hold)
    monkeypatch.setattr(gpus, "beside", lambda index, count: [other][:count])
    case = dict(ranks=2, how="right", place=0)
    run = runner.Run([planned(case)], CARD, Options(tmp_path, quiet=True))
    with run._alone():
        assert held == sorted(f"gpu-{card.uuid_hash}" for card in (CARD, other))


# Real processes over gloo

EXPECTED = {
    "right": (Outcome.OK, ""),
    "wrong": (Outcome.WRONG, "rank 1 of {}: worst row off by 1"),
    "segfaults": (Outcome.CRASHED, "rank 1 of {}: first_call: killed by SIGSEGV"),
    "hangs": (Outcome.HUNG, "of {}: first_call: not done after 4 s"),
    "raises": (Outcome.FAILED, "rank 1 of {}: first_call: ValueError: these shares"),
    "exits": (Outcome.CRASHED, "rank 1 of {}: first_call: the process ended with exit code 0"),
    "refuses": (Outcome.UNSUPPORTED, "rank 1 of {}: not on this rank"),
    "prepares_for_ever": (Outcome.HUNG, "while rank 1 was in prepare"),
    "is_killed": (Outcome.OUT_OF_MEMORY, "rank 1 of {}: prepare: killed by SIGKILL"),
}


def run(folder, cases):
    limits_s = {"prepare": 60.0, "first_call": 4.0, "check": 20.0, "time": 20.0}
    options = Options(folder, limits_s=limits_s, memory_mb=4000, effort="quick", quiet=True)
    kernel = planning.from_file(ZOO, cases)
    runner.run(planning.plan([kernel], [HERE], ["eager"], None), None, options)
    return [result for result in load(folder) if result.attempt]


def ours_left():
    marks = (each.info["environ"] or {} for each in psutil.process_iter(["environ"]))
    ours = (mark for mark in marks if mark.get("WORKBENCH_TESTS") == os.environ["WORKBENCH_TESTS"])
    return [mark for mark in ours if "WORKBENCH_MEETING" in mark]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_rank_takes_down_its_trial_only(tmp_path, ranks):
    pytest.importorskip("torch")
    cases = [case for case in planning.from_file(ZOO).cases if case["ranks"] == ranks]
    for result in run(tmp_path, cases):
        outcome, says = EXPECTED[result.trial.case["how"]]
        assert (result.outcome, says.format(ranks) in result.detail) == (outcome, True), result.detail
        if outcome == Outcome.OK:
            assert len(result.time["by_rank"]["median_us"]) == ranks
    assert not ours_left()


@pytest.mark.slow
def test_a_bystander_belongs_to_the_world_and_a_team_stays_warm(tmp_path):
    pytest.importorskip("torch")
    cases = [dict(ranks=2, bystanders=1, how=how, place=0) for how in ("right", "wrong", "right")]
    results = run(tmp_path, [dict(case, place=place) for place, case in enumerate(cases)])
    assert [str(result.outcome) for result in results] == ["ok", "wrong", "ok"]
    assert [result.stages["import"] > 0.3 for result in results] == [True, False, False]


COMPILES = """
import pathlib, time
API, DEVICES, TOLERANCE, VARIES = "math.sqrt", ("cpu",), 1e-6, ()
CASES = [dict(n=1), dict(n=2)]
LOG = pathlib.Path(__file__).with_suffix(".log")

def build():
    with LOG.open("a") as log:
        log.write(f"{time.monotonic()} ")
    time.sleep(0.5)

def inputs(n, seed=0):
    return dict(n=float(n))

def prepare(function, inputs):
    return lambda: [function(inputs["n"])]

def reference(inputs):
    return {"out": [inputs["n"] ** 0.5]}

def cost(n):
    return dict(bytes=0, flops=0, unit="fp32")
"""


@pytest.mark.slow
def test_environments_compile_at_the_same_time_and_each_worker_once_more(tmp_path):
    file = tmp_path / "compiles.py"
    file.write_text(COMPILES)
    both = [HERE, replace(HERE, name="the same again")]
    options = Options(tmp_path / "results", memory_mb=700, effort="quick", quiet=True)
    runner.run(planning.plan([planning.from_file(file)], both, ["eager"], None), None, options)
    assert [str(each.outcome) for each in load(tmp_path / "results") if each.attempt] == ["ok"] * 4
    one, other, *later = map(float, file.with_suffix(".log").read_text().split())
    assert abs(one - other) < 0.4 and len(later) == 2
