"""A function that its library does not have."""

API = "math.no_such_function"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(n=1)]


def inputs(n, seed=0):
    return {}


def prepare(function, inputs):
    return function


def reference(inputs):
    return {}


def cost(n):
    return dict(bytes=0, flops=0, unit="bf16")
