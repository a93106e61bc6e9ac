"""Fenced calls and fenced trials over a fake memory, and on a GPU whether the fence stops anybody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fake_memory import FakeMemory, named

from workbench.worker import fence, mapping, placing, poison, trial, values

torch = pytest.importorskip("torch")

ZOO = Path(__file__).parent / "kernels"


@pytest.fixture
def memory():
    return FakeMemory()


def test_tensors_that_live_elsewhere_are_told(memory):
    elsewhere = torch.ones(3, 5, dtype=torch.int16)
    told = []
    fence.put_up(lambda: None, {}, placing.Fence(memory, "end"), lambda **facts: told.append(facts))
    assert elsewhere is not None and told[0]["forensic"]["fence"]["not_fenced"]


@pytest.fixture
def watched(memory):
    """`watched(call, only=...)` -> what the call gave behind a fence, and the last fact told."""

    def run(call, calls=1, **options):
        told = []
        fenced = fence.around(
            call, placing.Fence(memory, "end", **options), lambda **facts: told.append(facts)
        )
        results = [fenced() for _ in range(calls)]
        return results[-1], told[-1]["forensic"]["fence"] if told else None

    return run


@pytest.mark.parametrize(
    "made",
    [
        lambda x: torch.empty(4), lambda x: torch.zeros(4), torch.empty_like, torch.zeros_like, torch.ones_like,
        lambda x: x.new_empty(4), lambda x: x.new_zeros(4), lambda x: torch.empty_strided((4,), (1,)),
        lambda x: torch.full((4,), 2.0), lambda x: torch.cat((x, x)), lambda x: x * 2, torch.clone,
        lambda x: x.to(torch.float64),
    ],
)  # fmt: skip
def test_what_torch_gives_the_call_is_fenced(watched, memory, made):
    x = torch.arange(4.0)
    got, facts = watched(lambda: made(x))
    assert memory.holds(got.data_ptr()) and not memory.holds(x.data_ptr())
    assert [each["name"] for each in facts["tensors"]] == ["allocated[0]"]
    wanted = made(x)
    poisoned = torch.full_like(wanted.view(torch.uint8), poison.BYTE)
    assert torch.equal(got, wanted) or torch.equal(got.view(torch.uint8), poisoned)


def test_views_and_what_is_written_in_place_stay_where_they_are(watched, memory):
    x = torch.arange(4.0)
    got, facts = watched(lambda: x.add_(1).reshape(2, 2).t()[0])
    assert facts is None and got.tolist() == [1, 3] and not memory.holds(got.data_ptr())


def test_each_call_counts_its_allocations_anew(watched):
    _, facts = watched(lambda: [torch.zeros(4), torch.ones(2)], calls=3)
    assert list(named(facts)) == ["allocated[0]", "allocated[1]"]


def test_one_allocation_alone_can_be_fenced(watched, memory):
    (first, second), _ = watched(lambda: [torch.zeros(4), torch.ones(2)], only=["allocated[1]"])
    assert memory.holds(second.data_ptr()) and not memory.holds(first.data_ptr())


def test_what_was_allocated_before_an_exception_is_told(memory):
    told = []

    def call():
        torch.zeros(4)
        raise ValueError("after the first")

    with pytest.raises(ValueError, match="after the first"):
        fence.around(call, placing.Fence(memory, "end"), lambda **facts: told.append(facts))()
    assert named(told[0]["forensic"]["fence"]) == {"allocated[0]": {"bytes": 16, "gap_bytes": 0}}


def test_operators_of_a_library_are_looked_into(watched, memory):
    held = []

    @torch.library.custom_op("fence_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        held.append(torch.empty_like(x))
        return held[0].copy_(x) * 2

    x = torch.arange(4.0)
    got, _ = watched(lambda: twice(x))
    assert memory.holds(held[0].data_ptr()) and memory.holds(got.data_ptr())
    assert got.tolist() == [0, 2, 4, 6]


@pytest.fixture
def attempt(monkeypatch, memory):
    """`attempt(kernel, case, mode, ...)` -> the facts told, in order."""
    monkeypatch.setattr(mapping, "here", lambda: memory)
    monkeypatch.setattr(values, "synchronize", lambda device: None)

    def run(name, case, mode="fenced", device="fake", **more):
        told = []
        command = dict(kernel_file=str(ZOO / f"{name}.py"), case=case, mode=mode, device=device, sm="")

        def tell(**facts):
            told.append(facts)

        trial.run({**command, "effort": "quick", **more}, trial.Stage(tell), tell)
        return told

    return run


@pytest.mark.parametrize("mode", ["fenced", "fenced_start"])
def test_a_fenced_trial_checks_twice_and_times_nothing(attempt, mode):
    told = attempt("unwritten", dict(how="all"), mode)
    facts = {name: value for each in told for name, value in each.items()}
    assert facts["check"]["right"] and facts["check_changed"]["right"] and "time" not in facts
    assert facts["stage"] == "done"
    assert facts["forensic"]["fence"]["edge"] == fence.EDGES[mode]
    assert list(named(facts["forensic"]["fence"])) == ["out", "x"]


def test_the_fence_is_told_before_the_first_call(attempt):
    told = attempt("unwritten", dict(how="all"))
    order = [
        name for each in told for name in each if name == "forensic" or each.get("stage") == "first_call"
    ]
    assert order[0] == "forensic" and "stage" in order


@pytest.mark.parametrize("how", ["all_but_a_row", "nothing"])
def test_what_was_not_written_is_seen_behind_a_fence_too(attempt, how):
    facts = {name: value for each in attempt("unwritten", dict(how=how)) for name, value in each.items()}
    assert not facts["check"]["right"]
    assert (facts["check"]["untouched"] == 1) == (how == "nothing")


def test_the_command_narrows_the_fence_and_may_fence_another_mode(attempt):
    told = attempt(
        "unwritten", dict(how="all"), "eager", fence=dict(edge="start", only=["out"], alignment=256)
    )
    facts = {name: value for each in told for name, value in each.items()}
    found = facts["forensic"]["fence"]
    assert (found["edge"], found["alignment"], list(named(found))) == ("start", 256, ["out"])
    assert "time" not in facts


def test_there_is_no_fence_on_the_cpu(attempt):
    with pytest.raises(trial.Stopped, match="GPU's pages") as problem:
        attempt("unwritten", dict(how="all"), device="cpu")
    assert problem.value.reason == "not_run"


def test_a_driver_that_refuses_means_not_run(attempt, monkeypatch):
    def here():
        raise mapping.Refused("cuMemCreate: no")

    monkeypatch.setattr(mapping, "here", here)
    with pytest.raises(trial.Stopped, match="cuMemCreate: no") as problem:
        attempt("unwritten", dict(how="all"))
    assert problem.value.reason == "not_run"


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: ordinary memory stops nobody")
def test_planted_reads_are_stopped_and_clean_calls_are_not():
    script = Path(__file__).parents[1] / "benchmarks" / "planted.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


PLANTED = """
import json, sys
from workbench import kernels

planted = kernels.load_file(sys.argv[1])
for case in planted.CASES:
    inputs = planted.inputs(**case)
    call = planted.prepare(lambda size, block: -(-size // block), inputs)
    right = bool((planted.outputs(call(), inputs)["out"] == planted.reference(inputs)["out"]).all())
    strays = call.__closure__[call.__code__.co_freevars.index("strays")].cell_contents
    at = {"before": planted.BYTES - case["reach"], "after": 2 * planted.BYTES, "none": 0}[case["side"]]
    there = inputs["x"]._base[at : at + case["reach"]]
    met = case["of"] == "workspace" or bool((strays[: case["reach"]] == there).all())
    print(json.dumps([right, met]))
"""


@pytest.mark.slow
def test_the_planted_kernel_reads_where_it_says_and_is_right_unfenced():
    pytest.importorskip("triton")
    done = subprocess.run(
        [sys.executable, "-c", PLANTED, ZOO / "planted.py"],
        env={**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[True, True]] * 10
