"""Tells an attempt that is expected to end its process, or to hang."""

import contextlib
import os
import signal
import subprocess
import sys
import traceback

from workbench import judge
from workbench.repro.parts import eager, kernel

FINISHED = 99  # how the process ends where nothing was seen; with 0 it may also have left early
RAISED = 98  # and after an exception, which is not what is looked for


def main():
    """Exit code 1: the symptom was seen; 0: nothing was; 2: something else was, or it could not be tried."""
    if sys.argv[1:] == ["attempt"]:
        os._exit(told())
    seen = ending()
    same = all(words in seen for words in kernel.SYMPTOM)
    print(("reproduced: " if same else "something else: ") + seen if seen else "not reproduced", flush=True)
    return (1 if same else 2) if seen else 0


def told():
    """The attempt itself, which is not expected to come back."""
    try:
        print(eager.attempt(), flush=True)
    except BaseException:
        traceback.print_exc()
        return RAISED
    return FINISHED


def ending():
    """How an attempt in a process of its own ends, in words; empty where it finishes."""
    command = [sys.executable, "-X", "faulthandler", __file__, "attempt"]
    child = subprocess.Popen(command, start_new_session=True)
    try:
        code = child.wait(kernel.LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"not done after {kernel.LIMIT_S:g} s"
    finally:
        end(child)
    return "" if code == FINISHED else judge.death(code)


def end(child):
    """The child, and what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
