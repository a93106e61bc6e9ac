"""What the walk from a call finds, and how it names it."""

import functools
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from workbench.worker import reach

torch = pytest.importorskip("torch")


def names(call, inputs=None):
    return [name for name, _ in reach.tensors(call, inputs or {})]


def test_a_call_is_walked_through_closures_containers_and_objects():
    class Slotted:
        __slots__ = ("data", "unset")

    @dataclass
    class Config:
        scale: object

    slotted = Slotted()
    slotted.data = torch.ones(2)
    asked = dict(w=SimpleNamespace(storage=slotted), configs=[Config(torch.ones(3))], pair=(1, torch.ones(4)))
    bound = functools.partial(lambda x, y: x, torch.ones(5), y=torch.ones(6))

    def call(default=torch.ones(7)):  # noqa: B008
        return asked, bound

    call.outputs = [torch.ones(8)]
    assert sorted(names(call, {"x": torch.ones(9)})) == [
        "asked.configs[0].scale", "asked.pair[1]", "asked.w.storage.data", "bound.y", "bound[0]",
        "defaults[0]", "inputs.x", "outputs[0]",
    ]  # fmt: skip


def test_a_tensor_is_named_once_and_by_the_call_rather_than_the_inputs():
    inputs = {"x": torch.ones(2), "other": torch.ones(3)}
    asked = {"input": inputs["x"], "again": [inputs["x"]]}
    assert names(lambda: asked, inputs) == ["asked.input", "inputs.other"]


def test_names_that_collide_are_told_apart():
    inputs = {"x": torch.ones(2)}
    assert len(set(names(lambda: inputs, {"x": torch.ones(2)}))) == 2


def test_cycles_modules_and_objects_that_answer_strangely_end_no_walk():
    class Strange:
        @property
        def __dict__(self):
            raise RuntimeError("not for you")

    pair = namedtuple("pair", "left right")(torch.ones(1), torch)
    loop = [Strange(), pair, globals()]
    loop.append(loop)
    assert names(lambda: loop) == ["loop[1].left"]


def test_methods_and_callable_objects_are_walked():
    class Layer:
        def __init__(self):
            self.weight = torch.nn.Parameter(torch.ones(2))

        def run(self):
            return self.weight

    assert names(Layer().run) == ["self.weight"]
    assert names(torch.nn.Linear(2, 2)) == ["_parameters.weight", "_parameters.bias"]
