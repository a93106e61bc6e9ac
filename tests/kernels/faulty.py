"""Says and leaves what a fault on a GPU makes a process say and leave. Needs no GPU: nothing here touches one."""

API = "math.sqrt"
DEVICES = ("cuda",)
TOLERANCE = 1e-6
VARIES = ()
HOWS = ("right", "illegal_address", "assert", "aborts", "hangs_when_located", "segfaults", "fenced")
CASES = [dict(how=how) for how in HOWS]
SAYS = {
    "illegal_address": "CUDA error: an illegal memory access was encountered",
    "assert": "CUDA error: device-side assert triggered",
    "hangs_when_located": "CUDA error: misaligned address",
    "fenced": "Triton Error [CUDA]: an illegal memory access was encountered",
}


def inputs(how, seed=0):
    return dict(how=how, number=float(seed + 4))


def prepare(function, inputs):
    def call():
        _fault(inputs["how"])
        return [function(inputs["number"])]

    return call


def reference(inputs):
    return {"out": [inputs["number"] ** 0.5]}


def cost(how):
    return dict(bytes=0, flops=0, unit="bf16")


def _fault(how):
    import ctypes
    import os
    import pathlib
    import time

    if how == "segfaults":
        ctypes.string_at(0)
    if how == "right":
        return
    if how == "hangs_when_located" and "CUDA_LAUNCH_BLOCKING" in os.environ:
        time.sleep(600)
    dump = os.environ.get("CUDA_COREDUMP_FILE")
    if dump:
        pathlib.Path(dump.replace("%p", str(os.getpid()))).write_text("a dump")
        if how == "aborts":
            os.abort()
    if how == "aborts":
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    raise RuntimeError(SAYS[how])
