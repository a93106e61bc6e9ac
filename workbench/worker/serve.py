"""Takes commands, one a line, and tells facts, one a line, each flushed as it happens.

An exception in a device stage ends this process: after it, the state of the GPU cannot be trusted. So does
any wish of the called code to leave. An answer that is wrong, or that the library refuses, ends nothing.
"""

import contextlib
import faulthandler
import json
import os
import resource
import signal
import sys
import time
import traceback

from . import ranks, trial

MESSAGE_CHARACTERS = 4000
LIMITS = [number for name, number in sorted(vars(resource).items()) if name.startswith("RLIMIT_")]
BROKEN = 70  # our exit code after an exception that ends the worker


def main(commands_fd, facts_fd):
    faulthandler.register(signal.SIGUSR2, all_threads=True, chain=False)  # asked before we are ended
    os.set_inheritable(commands_fd, False)
    os.set_inheritable(facts_fd, False)
    with os.fdopen(commands_fd, "r", encoding="utf-8") as commands:
        before = inherited()
        for line in commands:
            run(json.loads(line), facts_fd)
            after = inherited()
            if spoilt(before, after):
                os._exit(0)  # the next trial begins in a process of its own
            before = after
    trial.KEPT.clear()
    ranks.leave()


def inherited():
    """What one trial would hand on to the next without anybody seeing it."""
    torch = sys.modules.get("torch")
    try:
        limits = [resource.getrlimit(each)[0] for each in LIMITS]
        return {"cwd": os.getcwd(), "limits": limits, "dtype": torch and str(torch.get_default_dtype())}
    except Exception:
        return {}  # a folder that was deleted, a torch that is half there


def spoilt(before, after):
    """A library that was imported meanwhile, and a limit that was raised, as drivers do, spoil nothing."""
    if not after or before.get("cwd") != after["cwd"]:
        return True
    if before["dtype"] and before["dtype"] != after["dtype"]:
        return True
    endless = resource.RLIM_INFINITY
    pairs = zip(before["limits"], after["limits"], strict=True)
    return any(now != endless and (was == endless or now < was) for was, now in pairs)


def run(command, facts_fd):
    def tell(**facts):
        facts.update(n=command["n"], at=time.monotonic())
        line = (json.dumps(facts) + "\n").encode()
        while line:
            line = line[os.write(facts_fd, line) :]

    stage = trial.Stage(tell)
    try:
        trial.run(command, stage, tell)
        tell(end="done")
    except trial.Stopped as problem:
        tell(stopped={"reason": problem.reason, "message": words(problem)})
        tell(end="stopped")
    except BaseException as problem:
        _raised(problem, stage, tell)
    finally:
        flush()


def flush():
    """What was called may have closed the streams, or put others in their place."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def words(problem):
    try:
        return str(problem)[:MESSAGE_CHARACTERS]
    except Exception:
        return "an exception that cannot say what it is"


def raised_by(problem):
    """The line of a bare assert, which has no other words."""
    with contextlib.suppress(Exception):
        return traceback.extract_tb(problem.__traceback__)[-1].line or ""
    return ""


def exception(problem):
    """What is told of one."""
    return {
        "type": type(problem).__name__[:MESSAGE_CHARACTERS],
        "message": words(problem) or raised_by(problem),
        "missing": str(problem.name) if isinstance(problem, ImportError) and problem.name else None,
    }


def _raised(problem, stage, tell):
    with contextlib.suppress(Exception):
        traceback.print_exc()
    flush()
    ends = stage.touches_device or not isinstance(problem, Exception)
    tell(exception=exception(problem))
    tell(end="exception", ends_worker=ends)
    if ends:
        os._exit(BROKEN)  # a poisoned context may hang in a tidy exit
