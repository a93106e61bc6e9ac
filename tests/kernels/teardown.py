"""Right, and then its process crashes at its end."""

API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(n=4)]


def inputs(n, seed=0):
    return dict(number=float(n + seed))


def prepare(function, inputs):
    import atexit
    import ctypes

    atexit.register(ctypes.string_at, 0)
    return lambda: [function(inputs["number"])]


def reference(inputs):
    return {"out": [inputs["number"] ** 0.5]}


def cost(n):
    return dict(bytes=0, flops=0, unit="bf16")
