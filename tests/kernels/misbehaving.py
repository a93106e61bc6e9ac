"""Fails in each of the ways that a real kernel can, and is right in between."""

API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
HOWS = (
    "right", "raises", "right", "leaves", "exits", "aborts", "segfaults", "right", "hangs", "hangs_talking",
    "floods", "garbage", "right", "child", "allocates", "wrong", "nan", "zeros", "refuses", "interrupts",
)  # fmt: skip
CASES = [dict(how=how, place=place) for place, how in enumerate(HOWS)]


def inputs(how, place, seed=0):
    return dict(how=how, numbers=[float(seed + place + n) for n in range(1, 5)])


def prepare(function, inputs):
    if inputs["how"] == "refuses":
        raise NotImplementedError("not for numbers of this size")
    act = globals().get("_" + inputs["how"])
    spent = []

    def call():
        if act and not spent:
            spent.append(act())
        right = [function(number) for number in inputs["numbers"]]
        return _spoilt(inputs["how"], right)

    return call


def reference(inputs):
    return {"out": [number**0.5 for number in inputs["numbers"]]}


def cost(how, place):
    return dict(bytes=0, flops=0, unit="bf16")


def _spoilt(how, right):
    if how == "wrong":
        return [right[1], right[0], *right[2:]]
    if how == "nan":
        return [float("nan"), *right[1:]]
    return [0.0] * len(right) if how == "zeros" else right


def _raises():
    raise ValueError("these numbers are of no use")


def _leaves():
    import sys

    sys.exit(0)


def _exits():
    import os

    os._exit(0)


def _aborts():
    import os

    os.abort()


def _segfaults():
    import ctypes

    ctypes.string_at(0)


def _hangs():
    import time

    time.sleep(600)


def _hangs_talking():
    import time

    while True:
        print("still at work", flush=True)
        time.sleep(0.02)


def _floods():
    import os

    block = b"a flood of words\n" * 65536
    for _ in range(2**30 // len(block)):
        os.write(1, block)


def _garbage():
    import os
    import sys

    os.write(int(sys.argv[2]), b'\x00\xff{"n": 1, "stage": \n')


def _child():
    import subprocess
    import sys

    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)


def _allocates():
    held = []
    while True:
        held.append(b"x" * 2**24)


def _interrupts():
    raise KeyboardInterrupt
