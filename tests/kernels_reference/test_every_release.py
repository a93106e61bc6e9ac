"""Each case of each kernel is called with the parameters that every release of FlashInfer states.

`tests/cases/signatures.json` is read from the wheels by `benchmarks/signatures.py`; nothing here computes anything.
"""

import inspect
import json
import sys
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import pytest
from packaging.version import Version

from workbench import kernels
from workbench.kernels import _logits, _paged, _ranks

torch = pytest.importorskip("torch")

FOUND = json.loads((Path(__file__).parents[1] / "cases" / "signatures.json").read_text())
FUNCTIONS = FOUND["functions"]
# One of those that state the same: nothing that we call differs between it and the next.
STATED = {**FUNCTIONS, **FOUND["enums"]}
RELEASES = sorted({release for changes in STATED.values() for release in changes}, key=Version)
READ = {name.removesuffix(".__init__") for name in FUNCTIONS}
OURS = [each for each in kernels.names() if kernels.get(each).API in READ]
SMALL = dict(
    tokens=16, experts=16, hidden=256, intermediate=128, places=8, batch=2, length=64, prefix=16, heads=8,
    kv_heads=2, head_dim=16, top_k=2,
)  # fmt: skip
LACKING = [  # the words of who lacks it, and the first release that has it
    ("fp4_quantize takes no backend", "0.6.8"),
    ("routing Default:", "0.6.8"),
    ("routing SigmoidRenorm:", "0.6.8"),
    ("routing MiniMax2:", "0.6.8"),
    ("takes no linear scales", "0.6.8"),
    ("takes no group", "0.6.10.post1"),
    ("fp4_quantize takes no is_global_scale_inversed", "0.6.11"),
    ("routing Sigmoid:", "0.6.11"),
    ("mxfp4_quantize takes no sfLayout", "0.6.16"),
    ("routing TopKSigmoid:", "0.6.18"),
]
ABSENT = {"cutedsl_moe_bf16": "0.7.0"}
NEVER = ("one new token",)  # what no release can


def stated(name, release):
    """A function's parameters or an enumeration's members in that release; None where it is not there."""
    before = [each for each in STATED[name] if Version(each) <= Version(release)]
    return STATED[name][max(before, key=Version)] if before else None


def enumeration(name, release):
    pairs = (each.split("=") for each in stated(name, release).split(", "))
    return IntEnum(name.rpartition(".")[2], {member: int(number) for member, number in pairs})


def answer(name, given):
    """As much of an answer as the caller looks at."""
    if name.endswith("fp4_quantize"):
        return MagicMock(), MagicMock()
    if "permute_indices" in name:
        matrix = next(value for each, value in given.items() if each.startswith("dst_"))
        return torch.arange(len(matrix))
    if "interleave_moe" in name:
        return given.get("weight", given.get("scales"))
    return MagicMock()


def stand_in(name, parameters):
    scope = {}
    exec(f"def stated({parameters}): pass", scope)
    signature = inspect.signature(scope["stated"])

    def function(*args, **kwargs):
        return answer(name, signature.bind(*args, **kwargs).arguments)

    function.__signature__ = signature
    return function


def method(function):
    """Of a class; what is given to `__init__` is looked at, and nothing comes of it."""
    return lambda self, *args, **kwargs: function(*args, **kwargs) and None


@pytest.fixture(params=RELEASES)
def release(request, monkeypatch):
    """A flashinfer of that release that takes arguments and does nothing."""
    for name in FUNCTIONS:
        if (parameters := stated(name, request.param)) is not None:
            put(monkeypatch, name, stand_in(name, parameters))
    member("flashinfer").SfLayout = MagicMock()
    for name in FOUND["enums"]:
        put(monkeypatch, name, enumeration(name, request.param))
    member("flashinfer.comm").AllReduceFusionPattern = SimpleNamespace(kARResidualRMSNorm=1)
    monkeypatch.setattr(_paged, "WORKSPACE_BYTES", 1 << 10)
    monkeypatch.setattr(_ranks, "rank", lambda: 0)
    monkeypatch.setattr(_ranks, "group", lambda ranks: None)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor, group: None)
    return request.param


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


def refused(kernel, function, inputs):
    """Why the release cannot do it; nothing where the arguments fit. TypeError where they do not."""
    if function is None:
        return "absent"
    try:
        kernel.prepare(function, dict(inputs))()
    except NotImplementedError as problem:
        return str(problem)
    return ""


def test_each_case_fits_each_release_or_says_what_it_lacks(release):
    lacking = {words for words, first in LACKING if Version(release) < Version(first)}
    seen = set()
    for name in OURS:
        kernel = kernels.get(name)
        for case, inputs in drawn(name):
            why = refused(kernel, member(kernel.API), inputs)
            there = Version(release) >= Version(ABSENT.get(name, "0"))
            assert (why != "absent") == there, f"{name} in {release}"
            seen |= {words for words, _ in LACKING if words in why}
            known = not why or not there or any(words in why for words in (*lacking, *NEVER))
            assert known, f"{name} {case}: {why}"
    assert seen == lacking


def test_a_routing_is_said_to_come_with_the_release_that_has_its_number():
    for kind, (first, witness) in _logits.SINCE.items():
        (name,) = FOUND["enums"]
        having = [each for each in RELEASES if hasattr(enumeration(name, each), witness)]
        assert first == having[0], kind
        assert (f"routing {_logits.KINDS[kind][0]}:", first) in LACKING
    named = {each for each, *_ in _logits.KINDS.values()} | {"Unspecified"}
    assert named == set(enumeration(name, RELEASES[-1]).__members__), "the library has other kinds, too"


def test_what_is_compiled_by_itself_is_there(release):
    kernels.get("allreduce_fusion").build()


def test_an_argument_that_a_release_does_not_take_is_found(release):
    known = stated("flashinfer.fused_moe.cutlass_fused_moe", release)
    spoilt = stand_in("cutlass_fused_moe", known.replace("swiglu_limit", "swiglu_cap"))
    with pytest.raises(TypeError, match="swiglu_limit"):
        refused(kernels.get("cutlass_moe_mxfp4"), spoilt, drawn("cutlass_moe_mxfp4")[0][1])


def test_every_kernel_of_the_library_is_among_them():
    others = [
        name
        for name in kernels.names()
        if name not in OURS and kernels.get(name).API.startswith("flashinfer.")
    ]
    assert not others, "add what they call to FUNCTIONS of benchmarks/signatures.py, and read the wheels"
