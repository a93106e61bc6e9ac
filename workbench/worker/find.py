"""Finds the kernel's function in this environment and reads its signature."""

import importlib
import inspect


def api(kernel, stage, tell):
    """The function object. ImportError and AttributeError go up: they say that it is not here."""
    module_name, _, name = kernel.API.rpartition(".")
    owner = importlib.import_module(module_name)
    stage("find")
    function = getattr(owner, name)
    tell(found={"api": kernel.API, "module": _module(function), "signature": signature(function)})
    return function


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
