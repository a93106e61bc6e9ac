"""The call, its answer against the reference, and other inputs in the same place."""

import importlib

from workbench.repro.parts import kernel
from workbench.worker import check, poison, values

UNTOUCHED = 0.99


def function():
    module, _, name = kernel.API.rpartition(".")
    return getattr(importlib.import_module(module), name)


def wrong(result, data):
    """What is wrong with an answer, in words; empty where it is right."""
    untouched = poison.untouched(values.tensors(kernel.raw(result)))
    found = check.compare(kernel.outputs(result, data), kernel.reference(data), kernel.TOLERANCE)
    if found["right"]:
        return ""
    if untouched >= UNTOUCHED:
        return "wrong: nothing was written, the outputs still hold 0xFF"
    if found["nonfinite"]:
        return f"wrong: {found['nonfinite']} values are not finite ({found['where']})"
    if found["error"] is None:
        return f"wrong: {found['where']}"
    return f"wrong: worst row off by {found['error']:.3g}, allowed {found['tolerance']:g} ({found['where']})"


def change(data):
    """Other values in the same memory: whoever keeps an old answer, or old inputs, is found."""
    other = kernel.inputs(**kernel.CASE, seed=1)
    for name in kernel.VARIES:
        data[name].copy_(other[name])
