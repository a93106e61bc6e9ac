"""Each case of each kernel is called with the parameters that every release of FlashInfer states.

`tests/cases/signatures.json` is read from the wheels by `benchmarks/signatures.py`; nothing here computes anything.
"""

import pytest
from packaging.version import Version

from workbench import kernels
from workbench.kernels import _logits

torch = pytest.importorskip("torch")

from release_stand_ins import (  # noqa: E402
    FOUND,
    FUNCTIONS,
    RELEASES,
    drawn,
    enumeration,
    member,
    put_release,
    stand_in,
    stated,
)

READ = {name.removesuffix(".__init__") for name in FUNCTIONS}
OURS = [each for each in kernels.names() if kernels.get(each).API in READ]
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


@pytest.fixture(params=RELEASES)
def release(request, monkeypatch):
    put_release(monkeypatch, request.param)
    return request.param


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
