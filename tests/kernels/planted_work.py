"""Calls `planted.work`, which the proof by planted regressions makes slower, wrong, or crash, for one size."""

API = "planted.work"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(size=size) for size in (2, 4, 8)]


def inputs(size, seed=0):
    return dict(size=size, scale=1.0 + seed)


def prepare(function, inputs):
    return lambda: function(inputs["size"], scale=inputs["scale"])


def reference(inputs):
    return {"out": [inputs["scale"] * (n + 1.0) for n in range(inputs["size"])]}


def cost(size):
    return dict(bytes=0, flops=0, unit="bf16")
