"""Finds a function of FlashInfer and calls nothing: the cost of a trial without its kernel."""

API = "flashinfer.fp4_quantize"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(n=n) for n in range(40)]


def inputs(n, seed=0):
    return dict(n=float(n))


def prepare(function, inputs):
    return lambda: inputs["n"]


def reference(inputs):
    return {"out": inputs["n"]}


def cost(n):
    return dict(bytes=0, flops=0, unit="bf16")
