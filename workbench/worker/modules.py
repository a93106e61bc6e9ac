"""Which FlashInfer modules the cases of a kernel need, found without a GPU; for each, the library's own recipe.

The calls are made as a trial makes them, for a GPU that is not there. Where the library would compile a module,
its ninja file is written and something that does nothing stands in for the module. So no list of modules is kept.
"""

import contextlib
import json
import os
from typing import Any

from . import find, pretence, trial

WORDS = 300


class Module:
    """Stands in for a module: has every function, and all that they give is itself."""

    def __init__(self, called):
        self.called = called

    def __getattr__(self, name):
        def function(*_, **__):
            self.called.append(name)
            return self

        return function


def answer(request):
    """`kernel_file`, `cases`, `sm` ("9.0") -> `modules`, and cases that met none, with why; as one line of JSON."""
    kernel = trial.load(request["kernel_file"])
    function = find.api(kernel, lambda stage: None, lambda **facts: None)
    asked: dict[str, Any] = {}
    without = []
    with recorded(asked) as called, pretence.gpu(request["sm"]):
        for case in request["cases"]:
            before = len(asked) + len(called)
            why = call(kernel, function, case, request["sm"])
            if len(asked) + len(called) == before:
                without.append({"case": case, "why": why or "it calls no module"})
    return {"modules": [recipe(spec) for spec in asked.values()], "without": without}


def call(kernel, function, case, sm):
    """What was raised, as text: a call that has met its modules may well fail on what stands in for them."""
    if hasattr(kernel, "needs_artifacts") and kernel.needs_artifacts(sm=sm, **case):
        return "its kernels are fetched from the vendor's server, not compiled"
    try:
        kernel.prepare(function, kernel.inputs(**case))()
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"[:WORDS]
    return ""


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
