"""Attacks what runs it: its channel, its guard, its neighbours, the terminal."""

API = "math.sqrt"
DEVICES = ("cpu",)
TOLERANCE = 1e-6
VARIES = ()
HOWS = (
    "closes_channel", "closes_orders", "tells_of_the_future", "tells_of_the_past", "tells_no_end", "tells_wrong_kinds",
    "tells_much", "tells_stages",
    "bombs", "ignores", "daemons", "stops", "stops_later", "dies_later", "kills_guard", "closes_streams",
    "no_stack", "moves", "limits", "unprintable", "nameless", "terminal",
)  # fmt: skip
CASES = [dict(how=how, place=place) for how in HOWS for place in (0, 1)]


def inputs(how, place, seed=0):
    return dict(how=how, place=place, number=float(seed + place + 2))


def prepare(function, inputs):
    act = globals()["_" + inputs["how"]]
    spent = []

    def call():
        if inputs["place"] == 0 and not spent:
            spent.append(1)
            act()
        return [function(inputs["number"])]

    return call


def reference(inputs):
    return {"out": [inputs["number"] ** 0.5]}


def cost(how, place):
    return dict(bytes=0, flops=0, unit="bf16")


def _tell(line, *, of=1):
    import os
    import sys
    import time

    text = f'{{"n": {of}, "at": {time.monotonic()}, {line}}}\n'.encode()
    while text:
        text = text[os.write(int(sys.argv[2]), text) :]


def _closes_channel():
    import os
    import sys

    os.close(int(sys.argv[2]))


def _closes_orders():
    import os
    import sys

    os.dup2(os.open("/dev/null", os.O_RDONLY), int(sys.argv[1]))


def _tells_of_the_future():
    _tell('"end": "done"', of=7)


def _tells_of_the_past():
    _tell('"end": "done"', of=0)


def _tells_no_end():
    import os
    import sys

    for _ in range(100):
        os.write(int(sys.argv[2]), b"x" * 2**20)


def _tells_wrong_kinds():
    _tell('"check": {"right": true, "untouched": null, "error": "none", "nonfinite": []}, "time": [1]')
    _tell('"end": "done"')


def _tells_much():
    for number in range(100):
        _tell(f'"found_{number}": "' + "x" * 100_000 + '"')


def _tells_stages():
    import time

    for _ in range(400):
        _tell('"stage": "prepare"')
        _tell('"stage": "first_call"')
        time.sleep(0.02)


def _bombs():
    import os
    import time

    for _ in range(200):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
    os._exit(3)


def _ignores():
    import signal
    import time

    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


def _daemons():
    import os
    import time

    for _ in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.closerange(0, 64)
                time.sleep(600)
            os._exit(0)


def _stops():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)


def _when_ordered(act):
    """As a fault that shows late: after this trial's end, before the next begins."""
    import sys
    import types

    serve = sys.modules["workbench_worker.serve"]
    serve.json = types.SimpleNamespace(dumps=serve.json.dumps, loads=lambda text: act())


def _dies_later():
    import os

    _when_ordered(os.abort)


def _stops_later():
    _when_ordered(_stops)


def _kills_guard():
    import ctypes
    import os
    import signal
    import time

    ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)  # do not die with the parent
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def _closes_streams():
    import sys

    sys.stdout.close()
    sys.stderr = None


def _no_stack():
    import os
    import sys

    os.close(2)
    sys.stderr.close()
    raise ValueError("said without a stream")


def _moves():
    import os

    os.chdir("/proc")


def _limits():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))


def _unprintable():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    raise Broken


def _nameless():
    raise type("x" * 3_000_000, (Exception,), {})("long")


def _terminal():
    import os

    os.write(1, b"\xff\xfe\x00 half \xc3")
    raise ValueError("\x1b[2J\x1b]0;owned\x07\rover\x9bwritten \ud800 \u202eabc <script>alert(1)</script>")
