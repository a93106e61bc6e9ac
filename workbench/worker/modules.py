"""Which FlashInfer modules the cases of a kernel need, found without a GPU; for each, the library's own recipe.

The calls are made as a trial makes them, for a GPU that is not there. Where the library would compile a module,
its ninja file is written and something that does nothing stands in for the module. So no list of modules is kept.
"""

import contextlib
import importlib
import json
import os
import re
import sys
import traceback
from typing import Any

from . import compiled, find, pretence, serve, trial, tuning

DRIVER = re.compile(
    "cudaErrorInsufficientDriver|cudaErrorNoDevice|requires CUDA support|no NVIDIA driver", re.I
)
FETCHING = "cubin_loader.py"  # of the library: what is fetched goes through it


class Module:
    """Stands in for a module: has every function, and all that they give is itself."""

    def __init__(self, called):
        self.called = called

    def __getattr__(self, name):
        def function(*_, **__):
            self.called.append(name)
            return self

        return function

    def __getitem__(self, name):  # as some callers write it
        return getattr(self, name)


def answer(request):
    """`kernel_file`, `cases`, `sm` ("9.0") -> `modules`, and cases that met none: the stage they came to, and why.

    With `tuner`, also the module that FlashInfer's autotuner waits with, where a call asks the tuner.
    """
    kernel, stage = trial.load(request["kernel_file"]), trial.Stage(lambda **_: None)
    asked: dict[str, Any] = {}
    without = []
    with pretence.gpu(request["sm"]) as card:  # nvidia-cutlass-dsl wants one as the library is imported
        function, ended = _found(kernel, stage)
        if ended:
            return {"modules": [], "without": [_short(case, stage, ended) for case in request["cases"]]}
        with recorded(asked) as called, _asking_the_tuner() as tuned:
            for case in request["cases"]:
                before = len(asked) + len(called)
                ended = follow(kernel, function, case, request["sm"], card, stage)
                if len(asked) + len(called) == before:
                    without.append(_short(case, stage, ended))
            if request.get("tuner") and tuned:
                _wait_as_the_tuner_does()
    return {"modules": [recipe(spec) for spec in asked.values()], "without": without}


def _asking_the_tuner():
    """What calls ask FlashInfer's autotuner within it, as `tuning.watched`; nothing where it has none."""
    tuner = sys.modules.get("flashinfer.autotuner")
    return tuning.watched(tuner.AutoTuner) if tuner else contextlib.nullcontext({})


def _wait_as_the_tuner_does():
    with contextlib.suppress(ImportError, AttributeError):  # not every version has it
        importlib.import_module("flashinfer.tllm_utils").get_trtllm_utils_module()


def _short(case, stage, ended):
    return {"case": case, "stage": stage.name, **ended}


def follow(kernel, function, case, sm, card, stage):
    """What ended the call, as a worker tells it. Once modules stand in it may well fail, and nobody looks."""
    try:
        stage("prepare")
        trial.on_its_family(kernel, sm, stage)
        trial.fetches(kernel, sm, case)
        call = trial.prepared(kernel, function, kernel.inputs(**case))
        stage("first_call")
        call()
    except trial.Stopped as problem:
        return _stopped(problem.reason, str(problem))
    except Exception as problem:
        return _ended(problem, card)
    return _stopped("not_run", "it calls no module")


def _found(kernel, stage):
    stage("import")
    try:
        trial.equipped(kernel)
        return find.api(kernel, stage, lambda **facts: None), None
    except trial.Stopped as problem:
        return None, _stopped(problem.reason, str(problem))
    except Exception as problem:
        return None, {"exception": serve.exception(problem)}


def _ended(problem, card):
    files = {os.path.basename(frame.filename) for frame in traceback.extract_tb(problem.__traceback__)}
    if FETCHING in files:
        why = "its kernels are fetched from the vendor's server, not compiled; followed as far as that"
        return _stopped("missing_cubin", f"{why}: {serve.words(problem)}")
    if DRIVER.search(f"{type(problem).__name__} {serve.words(problem)}"):
        return _stopped(
            "not_run", f"followed as far as the driver, which is not here: {_first_line(problem)}"
        )
    if why := compiled.doubtful(problem, card):
        return _stopped("not_run", f"the stand-in for the GPU may be the cause: {why}")
    return {"exception": serve.exception(problem)}


def _first_line(problem):
    return serve.words(problem).partition("\n")[0].strip()


def _stopped(reason, message):
    return {"stopped": {"reason": reason, "message": message}}


@contextlib.contextmanager
def recorded(asked):
    """Within it, a module that the library would build is kept in `asked`; gives the list of calls into modules."""
    from flashinfer.jit.core import JitSpec

    called: list[str] = []

    def build(spec, *_, **__):
        asked[spec.name] = spec
        return Module(called)

    ways = [name for name in ("build_and_load", "build") if hasattr(JitSpec, name)]
    with pretence.replaced(JitSpec, **dict.fromkeys(ways, build)):
        yield called


def recipe(spec):
    """The ninja file is the library's own: sources, flags, and how they are linked."""
    spec.write_ninja()
    return {"name": spec.name, "ninja": os.fspath(spec.ninja_path)}


def main(request):
    print("\n" + json.dumps(answer(json.loads(request))))
