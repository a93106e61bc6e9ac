"""Calls `planted.rest`, whose signature the proof by planted regressions changes."""

API = "planted.rest"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(size=2)]


def inputs(size, seed=0):
    return dict(size=size)


def prepare(function, inputs):
    return lambda: function(inputs["size"], scale=2.0)


def reference(inputs):
    return {"out": [2.0 * (n + 1.0) for n in range(inputs["size"])]}


def cost(size):
    return dict(bytes=0, flops=0, unit="bf16")
