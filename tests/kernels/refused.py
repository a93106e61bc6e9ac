"""Asks for a module that is not there, catches the refusal, and does something else instead."""

import os
import sys
import types

API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(how=how) for how in ("right", "wrong", "raises", "aborts", "late", "asks_for_nothing")]


class JitSpec:
    """Stands in for FlashInfer's."""

    name, sources, is_compiled = "a_module", (1, 2), False

    def build(self):
        """Compiles nothing."""


if "workbench_worker" in sys.modules:  # not where a plan is made
    sys.modules["flashinfer.jit.core"] = types.ModuleType("flashinfer.jit.core")
    sys.modules["flashinfer.jit.core"].JitSpec = JitSpec


def inputs(how, seed=0):
    return dict(how=how, numbers=[float(seed + n) for n in range(1, 5)])


def prepare(function, inputs):
    how, calls = inputs["how"], []

    def call():
        calls.append(1)
        if how == "asks_for_nothing" or (how == "late" and len(calls) < 3):
            return [function(number) for number in inputs["numbers"]]
        try:
            JitSpec().build()
        except Exception:
            return _instead(how, [function(number) for number in inputs["numbers"]])

    return call


def reference(inputs):
    return {"out": [number**0.5 for number in inputs["numbers"]]}


def cost(how):
    return dict(bytes=0, flops=0, unit="bf16")


def _instead(how, right):
    if how == "raises":
        raise RuntimeError("words of the library's own") from None
    if how == "aborts":
        os.abort()
    return right[::-1] if how == "wrong" else right
