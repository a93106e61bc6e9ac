"""The ladder of graphs, with stand-ins for the graphs: a piece that is replayed does its work again, in place."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from workbench.judge import Facts, judge
from workbench.worker import piecewise, trial

torch = pytest.importorskip("torch")


class Again:
    def __init__(self, work, given):
        self.work, self.given = work, given

    def replay(self):
        given = self.work()
        if isinstance(given, dict):
            for name, tensor in given.items():
                self.given[name].copy_(tensor)
        elif given is not None:
            self.given.copy_(given)


@pytest.fixture(autouse=True)
def without_a_gpu(monkeypatch):
    stream = SimpleNamespace(wait_stream=lambda other: None)
    stands = dict(graph_pool_handle=tuple, synchronize=lambda: None, Stream=lambda: stream)
    stands.update(current_stream=lambda: stream, stream=lambda given: nullcontext())
    for name, stand in stands.items():
        monkeypatch.setattr(torch.cuda, name, stand)
    monkeypatch.setattr(piecewise, "_disturb", lambda return_it: None)

    def piece(pool, work):
        given = work()
        return Again(work, given), given

    monkeypatch.setattr(piecewise, "_piece", piece)


def kernel(spoilt=0, keeps=False, **more):
    """Doubles x; at the size `spoilt` the last row is off, and one that `keeps` reads its inputs once for all."""

    def prepare(function, inputs):
        x = inputs["x"].clone() if keeps else inputs["x"]

        def call():
            answer = x * 2
            if len(answer) == spoilt:
                answer[-1] += 5
            return answer

        return call

    def inputs(rows, seed=0):
        return {"x": torch.randn(rows, 8, generator=torch.Generator().manual_seed(seed))}

    def part(inputs, rows):
        return {**inputs, "x": inputs["x"][:rows]}

    return SimpleNamespace(
        VARIES=("x",), SIZE="rows", TOLERANCE=1e-6, inputs=inputs, prepare=prepare, part=part,
        reference=lambda inputs: {"out": inputs["x"] * 2}, **more,
    )  # fmt: skip


def captured(kernel, rows=100):
    told = {}
    case = {"rows": rows}
    timed = piecewise.captured(
        kernel, None, kernel.inputs(**case), case, lambda stage: None, lambda **facts: told.update(facts)
    )
    return timed, told


def test_a_ladder_begins_at_the_case_and_goes_down_to_one():
    assert piecewise.ladder(100) == [100, 64, 32, 16, 8, 4, 2, 1]
    assert piecewise.ladder(8192)[:2] == [8192, 4096]
    assert piecewise.ladder(1) == [1]


def test_the_order_of_replays_is_shuffled_and_always_the_same():
    order = piecewise.shuffled(list(range(8)))
    assert sorted(order) == list(range(8)) != order
    assert order == piecewise.shuffled(list(range(8)))


def test_every_size_is_replayed_and_checked():
    timed, told = captured(kernel())
    assert timed and told["check"]["right"]
    assert told["piecewise"] == {"sizes": piecewise.ladder(100), "replays": 8}


def test_a_wrong_answer_names_its_size():
    timed, told = captured(kernel(spoilt=16))
    assert timed is None and told["piecewise"] == {"size": 16, "step": "replay"}
    judgement = judge(Facts("replay", told, end="done"))
    assert judgement.outcome == "wrong" and "at size 16 of the ladder, in replay" in judgement.detail


def test_a_call_that_keeps_old_inputs_is_found():
    assert captured(kernel(keeps=True))[0] is None


def test_a_kernel_that_cannot_be_cut_is_not_run():
    whole = kernel()
    del whole.part
    with pytest.raises(trial.Stopped, match="part"):
        captured(whole)


def test_a_death_while_captured_names_its_size():
    told = {"piecewise": {"size": 512, "step": "capture"}}
    assert "at size 512 of the ladder, in capture" in judge(Facts("capture", told, code=-11)).detail
