"""Runs out of memory while another process holds the same: a locked file stands in for the GPU's memory."""

API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
CASES = [dict(memory="memory")]  # a path


def inputs(memory, seed=0):
    import fcntl
    import pathlib

    held = pathlib.Path(memory).open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RuntimeError("CUDA out of memory: another process has it") from None
    return dict(held=held, number=4.0 + seed)


def prepare(function, inputs):
    return lambda: [function(inputs["number"])]


def reference(inputs):
    return {"out": [inputs["number"] ** 0.5]}


def cost(memory):
    return dict(bytes=0, flops=0, unit="bf16")
