"""Finds the kernel's function in this environment and reads its signature."""

import importlib
import inspect
import sys

LIBRARIES = ("flashinfer", "triton_kernels", "sglang", "vllm")


def api(kernel, stage, tell):
    """The function object. ImportError and AttributeError go up: they say that it is not here.

    `ALSO` of a kernel are names that the function has in other versions. `loaded` tells which libraries are in
    the process, for one that an earlier trial has brought may change what happens here.
    """
    called, owner = _owner(kernel.API, getattr(kernel, "ALSO", ()))
    stage("find")
    function = getattr(owner, called.rpartition(".")[2])
    loaded = [each for each in LIBRARIES if each in sys.modules]
    tell(
        found={"api": called, "module": _module(function), "signature": signature(function), "loaded": loaded}
    )
    return function


def _owner(name, others):
    """The first of these whose module is there, and that module; where none is, the error is that of `name`."""
    missing = []
    for each in (name, *others):
        module = each.rpartition(".")[0]
        try:
            return each, importlib.import_module(module)
        except ModuleNotFoundError as problem:
            if not f"{module}.".startswith(f"{problem.name}."):
                raise  # it is there, and misses something itself
            missing.append(problem)
    raise missing[0]


def signature(function):
    """Text such as "(x, scale=None)"; annotations are left out, for they differ in wording alone."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "not stated"
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty))[:4000]


def _module(function):
    return str(getattr(function, "__module__", "") or "")
