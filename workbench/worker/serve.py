"""Takes commands, one a line, and tells facts, one a line, each flushed as it happens.

An exception in a device stage ends this process: after it, the state of the GPU cannot be trusted. So does
any wish of the called code to leave. An answer that is wrong, or that the library refuses, ends nothing.
"""

import faulthandler
import json
import os
import signal
import sys
import time
import traceback

from . import trial

MESSAGE_CHARACTERS = 4000
BROKEN = 70  # our exit code after an exception that ends the worker


def main(commands_fd, facts_fd):
    faulthandler.register(signal.SIGUSR2, all_threads=True, chain=False)  # asked before we are ended
    os.set_inheritable(commands_fd, False)
    os.set_inheritable(facts_fd, False)
    with os.fdopen(commands_fd, "r", encoding="utf-8") as commands:
        for line in commands:
            run(json.loads(line), facts_fd)


def run(command, facts_fd):
    def tell(**facts):
        facts.update(n=command["n"], at=time.monotonic())
        os.write(facts_fd, (json.dumps(facts) + "\n").encode())

    stage = trial.Stage(tell)
    try:
        trial.run(command, stage, tell)
        tell(end="done")
    except trial.Stopped as problem:
        tell(stopped={"reason": problem.reason, "message": str(problem)[:MESSAGE_CHARACTERS]})
        tell(end="stopped")
    except BaseException as problem:
        _raised(problem, stage, tell)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _raised(problem, stage, tell):
    traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    ends = stage.touches_device or not isinstance(problem, Exception)
    tell(
        exception={
            "type": type(problem).__name__,
            "message": str(problem)[:MESSAGE_CHARACTERS],
            "missing": getattr(problem, "name", None) if isinstance(problem, ImportError) else None,
        }
    )
    tell(end="exception", ends_worker=ends)
    if ends:
        os._exit(BROKEN)  # a poisoned context may hang in a tidy exit
