"""A flashinfer of any release that takes the arguments of its functions and computes nothing, and small cases for it.

`tests/cases/signatures.json` is read from the wheels by `benchmarks/signatures.py`.
"""

import inspect
import json
import sys
from enum import Enum, IntEnum
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import torch  # noqa: TID253
from packaging.version import Version

from workbench import kernels
from workbench.kernels import _paged, _ranks

FOUND = json.loads((Path(__file__).parents[1] / "cases" / "signatures.json").read_text())
FUNCTIONS = FOUND["functions"]
# One of those that state the same: nothing that we call differs between it and the next.
STATED = {**FUNCTIONS, **FOUND["enums"]}
RELEASES = sorted({release for changes in STATED.values() for release in changes}, key=Version)
SMALL = dict(
    tokens=16, experts=16, hidden=256, intermediate=128, places=8, batch=2, length=64, prefix=16, heads=8,
    columns=256, kv_heads=2, head_dim=16, top_k=2,
)  # fmt: skip


def stated(name, release):
    """A function's parameters or an enumeration's members in that release; None where it is not there."""
    before = [each for each in STATED[name] if Version(each) <= Version(release)]
    return STATED[name][max(before, key=Version)] if before else None


def enumeration(name, release):
    pairs = (each.split("=") for each in stated(name, release).split(", "))
    return IntEnum(name.rpartition(".")[2], {member: int(number) for member, number in pairs})


def answer(name, given):
    """As much of an answer as the caller looks at."""
    named = name.rpartition(".")[2]
    if named == "fp4_quantize":
        return MagicMock(name="codes of fp4_quantize"), MagicMock(name="scales of fp4_quantize")
    if "permute_indices" in name:
        matrix = next(value for each, value in given.items() if each.startswith("dst_"))
        return torch.arange(len(matrix))
    if "interleave_moe" in name:
        return given.get("weight", given.get("scales"))
    return MagicMock(name=f"answer of {named}")


def stand_in(name, parameters, heard=None):
    """`heard` is told the name and the arguments by their names."""
    scope = {}
    exec(f"def stated({parameters}): pass", scope)
    signature = inspect.signature(scope["stated"])

    def function(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if heard:
            heard(name, given)
        return answer(name, given)

    function.__signature__ = signature
    return function


def method(function):
    """Of a class; what is given to `__init__` is looked at, and nothing comes of it."""
    return lambda self, *args, **kwargs: function(*args, **kwargs) and None


def put_release(monkeypatch, release, heard=None):
    """A flashinfer of that release that takes arguments and does nothing."""
    for name in FUNCTIONS:
        if (parameters := stated(name, release)) is not None:
            put(monkeypatch, name, stand_in(name, parameters, heard))
    member("flashinfer").SfLayout = Enum("SfLayout", ["layout_128x4", "layout_linear", "layout_8x4"])
    for name in FOUND["enums"]:
        put(monkeypatch, name, enumeration(name, release))
    member("flashinfer.comm").AllReduceFusionPattern = SimpleNamespace(kARResidualRMSNorm=1)
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 10)
    monkeypatch.setattr(_ranks, "rank", lambda: 0)
    monkeypatch.setattr(_ranks, "group", lambda ranks: f"group of {ranks}")
    reduce = stand_in("torch.distributed.all_reduce", "tensor, group", heard)
    monkeypatch.setattr(torch.distributed, "all_reduce", reduce)


def put(monkeypatch, name, function):
    owner, _, last = name.rpartition(".")
    if owner.rpartition(".")[2][0].isupper():
        module, _, kind = owner.rpartition(".")
        held = held_in(monkeypatch, module).__dict__.setdefault(kind, type(kind, (), {}))
        setattr(held, last, method(function))
    else:
        setattr(held_in(monkeypatch, owner), last, function)


def held_in(monkeypatch, module):
    if module not in sys.modules:
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
        sys.modules[module].__path__ = []
        if "." in module:
            parent, _, last = module.rpartition(".")
            setattr(held_in(monkeypatch, parent), last, sys.modules[module])
    return sys.modules[module]


def member(name):
    """What a dotted name of the stand-in leads to; None where it leads to nothing."""
    owner, _, last = name.rpartition(".")
    return sys.modules.get(name) or getattr(sys.modules.get(owner), last, None)


@cache
def drawn(name):
    """Inputs of each kind of case, small."""
    kernel = kernels.get(name)
    return [(case, kernel.inputs(**case)) for case in cases(kernel)]


def cases(kernel):
    """Each kind once."""
    found = {}
    for case in kernel.CASES:
        case = {**case, **{name: value for name, value in SMALL.items() if name in case}}
        if case.get("ep_size", 1) > 1:
            case.update(ep_size=2, ep_rank=1)
        if case.get("kind") == "llama4":
            case.update(top_k=1)
        found[json.dumps(case, sort_keys=True)] = case
    return list(found.values())
