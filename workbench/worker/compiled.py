"""The mode `compiled`: the call is made as far as its kernels are compiled, for a given SM, and nothing is launched.

Without a given SM and with a GPU here, the call is really made and its kernels are told in the same way: what the
stand-in is checked against. No answer is looked at, so nothing of it says that a kernel is right.
"""

import os
import re
import sys
import traceback

from . import everywhere, find, pretence, triton_driver

PRETENDING = (pretence.__file__, everywhere.__file__, triton_driver.__file__)
VALUELESS = re.compile(  # how torch speaks of the device on which the stand-in's tensors are, in C++ too
    r"\bon meta\b|\bmeta'? (device|tensor)|\bMeta tensors?\b|'Meta' backend|\bdevices?\b[^.]*\bmeta\b|\bregister_meta\b"
)
HEARD: dict = {}  # once a process: the driver, and the list of what it was asked to launch


def run(command, kernel, stage, tell, stopped):
    """Tells `forensic.compiled`, also of a call that fails on its way. Raises `stopped` where it was not tried."""
    if command["device"] is None:
        raise stopped(
            "not_run", "no GPU here, and none is given: say for which it is compiled, such as --sm 90"
        )
    if command["device"] == "cuda":
        function = find.api(kernel, stage, tell)
        launched(command, kernel, function, stage, tell)
        return
    stage.real = False
    with pretence.gpu(command["sm"]) as card:
        try:
            compiled(command, kernel, card, stage, tell)
        except stopped:
            raise
        except Exception as problem:
            if why := doubtful(problem, card):
                raise stopped("not_run", f"the stand-in for the GPU may be the cause: {why}") from problem
            raise


def compiled(command, kernel, card, stage, tell):
    function = find.api(kernel, stage, tell)
    if "triton" in sys.modules and "driver" not in HEARD:
        driver = triton_driver.StandIn(card)
        HEARD.update(driver=driver, kernels=triton_driver.hear(driver, command["cuobjdump"]))
        sys.modules["triton"].runtime.driver.set_active(driver)
    stage("build")
    try:
        call(kernel, function, command["case"])
    finally:
        tell(forensic={"compiled": facts(command["sm"], HEARD.get("kernels", []), faked(card))})
    stage("done")


def launched(command, kernel, function, stage, tell):
    import triton

    if "driver" not in HEARD:
        driver = triton.runtime.driver.active
        HEARD.update(driver=driver, kernels=triton_driver.hear(driver, command["cuobjdump"]))
    stage("first_call")
    try:
        call(kernel, function, command["case"])
    finally:
        tell(forensic={"launched": facts(command["sm"], HEARD["kernels"], [])})
    stage("done")


def call(kernel, function, case):
    """The whole of it: a library may compile for its layouts as well."""
    del HEARD.get("kernels", [])[:]
    kernel.prepare(function, kernel.inputs(**case))()


def facts(sm, kernels, made_up):
    import triton

    return {"sm": sm, "triton": triton.__version__, "kernels": list(kernels), "faked": made_up}


def faked(card):
    """What was asked of the card that its architecture does not settle."""
    chosen = [f"{name} {value} (as of {card.name})" for name, value in sorted(card.chosen.items())]
    return [*chosen, *(f"{name}: not known" for name in card.unknown), "tensors without values"]


def doubtful(problem, card):
    """Why a failure may be the stand-in's own: it was asked what it does not know, it was raised below it, or a
    library that calls torch from C++ met its tensors without values."""
    if card.unknown:
        return f"it was asked for {', '.join(card.unknown)}"
    files = {
        os.path.abspath(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(problem.__traceback__)
    }
    if files.intersection(map(os.path.abspath, PRETENDING)) or VALUELESS.search(str(problem)):
        return f"{type(problem).__name__}: {problem}"[:300]
    return ""
