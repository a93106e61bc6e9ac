"""Tells an attempt that is expected to raise, or to give a wrong answer."""

import os
import sys
import traceback

from workbench.repro.parts import eager, kernel


def main():
    """Exit code 1: the symptom was seen; 0: nothing was; 2: something else was, or it could not be tried."""
    try:
        seen = eager.attempt()
    except BaseException as problem:
        traceback.print_exc()
        seen = f"{type(problem).__name__}: {problem}"
    same = all(words in seen for words in kernel.SYMPTOM)
    said = ("reproduced: " if same else "something else: ") + seen if seen else "not reproduced"
    print(said, flush=True)
    sys.stderr.flush()
    os._exit((1 if same else 2) if seen else 0)  # after a fault of the GPU a tidy exit may hang or abort
