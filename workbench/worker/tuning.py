"""Lets FlashInfer's autotuner choose, as a stage of its own, and sees what was chosen.

The choice is a matter of chance: two tunings of one version may pick different tactics. So each process tunes anew,
and what it picked stands in every row.
"""

import contextlib
import importlib
import sys
import time

from . import builds, values

DEFAULT = -1  # the tactic of a call that was not tuned
TUNED = "+tuned"  # behind the name of a mode: graph+tuned


def wanted(mode):
    return mode.endswith(TUNED)


def forget():
    """What a trial before this one has tuned in the process: the default tactic is asked for anew."""
    if autotuner := sys.modules.get("flashinfer.autotuner"):
        autotuner.AutoTuner.get().clear_cache()


def tuned(call, stage, tell, stopped):
    """Tune all that the call asks the autotuner; tells `tuning`: seconds, what was chosen, how many tries failed.

    Raises `stopped` where there is no autotuner, where the call does not ask it, or where no tactic could be tried:
    the tuner skips one that fails without a word, and the default one would run.
    """
    stage("tune")
    try:
        autotuner = importlib.import_module("flashinfer.autotuner")
    except ImportError as problem:
        raise stopped("not_run", f"there is no autotuner here: {problem}") from problem
    tuner = autotuner.AutoTuner.get()
    tuner.reset_statistics()
    began = time.monotonic()
    with autotuner.autotune(True):
        call()
        values.synchronize("cuda")
    seconds = time.monotonic() - began
    builds.caught()
    with watched(autotuner.AutoTuner) as chosen:
        call()
        values.synchronize("cuda")
    if not chosen:
        raise stopped("not_exercised", "the call asks the autotuner nothing: it has one tactic here")
    failed = counts(tuner)
    tell(tuning={"seconds": round(seconds, 2), "chosen": chosen, **failed})
    if failed["failed"] and all(each.endswith(f" {DEFAULT}") for each in chosen.values()):
        raise stopped(
            "not_exercised",
            "no tactic that the autotuner tried has run, and the default one is left; it says why with "
            "FLASHINFER_LOGGING_LEVEL=debug",
        )


@contextlib.contextmanager
def watched(kind):
    """What `choose_one` answers meanwhile: operation -> runner and tactic, as text."""
    original, chosen = kind.choose_one, {}

    def choose_one(self, custom_op, *given, **more):
        runner, tactic = original(self, custom_op, *given, **more)
        chosen[str(custom_op)[:100]] = f"{type(runner).__name__} {tactic}"[:200]
        return runner, tactic

    kind.choose_one = choose_one
    try:
        yield chosen
    finally:
        kind.choose_one = original


def counts(tuner):
    """How many tries of a tactic failed, as the tuner counts them; a failed one is skipped without a word."""
    failed = getattr(getattr(tuner, "stats", None), "failed_profiling_count", {})
    return {"failed": sum(len(each) for each in failed.values())}
