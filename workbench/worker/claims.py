"""Asks a FlashInfer what it says it supports: `python -I claims.py REQUEST` prints one JSON line. No GPU is touched.

Three ways to ask: the predicates that decorators hang on a function; the function that chooses a module for a GPU;
and the list of architectures that a module's builder asks the compiler for. Whatever would compile, fetch or load is
replaced by something that stops. None in the answer: not stated.
"""

import importlib
import inspect
import json
import re
import sys
from typing import Any


class Stopped(Exception):
    """Got as far as was asked."""


def main(request):
    """`asked`: function -> ways; `sms`: numbers such as 90 or 103."""
    answer = {}
    for name, ways in request["asked"].items():
        try:
            answer[name] = one(name, ways, request["sms"])
        except Exception as problem:  # a version that is made differently: then it is not stated
            answer[name] = {
                "found": False,
                "how": "",
                "why": f"{type(problem).__name__}: {problem}"[:200],
                "sm": {},
            }
    return answer


def one(name, ways, sms):
    function = attribute(name)
    stated = by_predicate(function, sms) if function is not None else None
    if stated:
        return {"found": True, "how": "predicate", "why": "", **stated}
    answers: dict = {}
    how: list = []
    for way in ways:
        found = tried(WAYS[way["kind"]], way, sms)
        if found is not None:
            how.append(way["kind"])
            answers = {str(sm): both(answers.get(str(sm)), found[sm]) for sm in sms}
    why = "" if how else "neither a predicate nor a table of architectures that can be asked"
    if function is None:
        why = "cannot be imported here: this version has no such function, or what it needs is not installed"
    return {"found": function is not None, "how": "+".join(how), "why": why, "sm": answers}


def tried(ask_that_way, way, sms):
    """None where this version is made differently."""
    try:
        return ask_that_way(way, sms)
    except Exception:
        return None


def both(one, other):
    return other if one is None else (one if other is None else one and other)


def attribute(name):
    """A dotted name, as a caller imports it."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            held: Any = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        for part in parts[count:]:
            held = getattr(held, part, None)
        return held
    return None


def by_predicate(function, sms):
    """What decorators state: per backend where there are several."""
    held: Any = vars(function)["__init__"] if inspect.isclass(function) else function
    if not hasattr(held, "is_compute_capability_supported"):
        return None
    choices = getattr(held, "has_backend_choices", lambda: False)()
    backends = {}
    for backend in names_of_backends(held) if choices else ():
        if held.has_backend(backend):
            backends[backend] = {str(sm): ask(held.is_backend_supported, backend, sm) for sm in sms}
    return {
        "sm": {str(sm): ask(held.is_compute_capability_supported, sm) for sm in sms},
        "backends": backends,
    }


def names_of_backends(function):
    """From the table that the decorator closes over, else from the annotation."""
    for cell in getattr(getattr(function, "has_backend", None), "__closure__", None) or ():
        if isinstance(cell.cell_contents, dict):
            return list(cell.cell_contents)
    parameter = inspect.signature(function).parameters.get("backend")
    return re.findall(r"'([\w-]+)'", str(parameter.annotation)) if parameter else []


def ask(predicate, *arguments):
    try:
        return bool(predicate(*arguments))
    except Exception:
        return None


def by_choice(way, sms):
    """Calls the function that picks a module by architecture, its builders replaced."""
    module = importlib.import_module(way["module"])
    choose = getattr(module, way["name"], None)
    if choose is None:
        return None
    choose = getattr(choose, "__wrapped__", choose)
    pretend_cuda()
    return {
        sm: with_stubs(module, r"gen_.*module", stop, lambda sm=sm: choose(str(sm)), (ValueError,))
        for sm in sms
    }


def pretend_cuda():
    """A torch without CUDA has no number that could be compared; the answer is that of a new enough one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.version.cuda is None:
        torch.version.cuda = "13.0"


def by_check(way, sms):
    """Calls a check that reads the compute capability, which is replaced."""
    module = importlib.import_module(way["module"])
    check = getattr(module, way["name"], None)
    if check is None:
        return None
    import torch

    found = {}
    for sm in sms:
        capability = (sm // 10, sm % 10)
        call = lambda: check(torch.device("cuda"), "asked")  # noqa: E731
        found[sm] = with_stubs(
            module,
            "get_compute_capability",
            lambda *_, is_=capability: is_,
            call,
            (RuntimeError, ValueError),
            True,
        )
    return found


def by_builder(way, sms):
    """Calls the builder of a module up to where it names architectures; those are major numbers."""
    try:
        builder = attribute(f"{way['module']}.{way['name']}")
    except Exception:
        return None
    if builder is None:
        return None
    majors = majors_of(builder, way.get("arguments", {}))
    return None if majors is None else {sm: sm // 10 in majors for sm in sms}


def majors_of(builder, given):
    from flashinfer.compilation_context import CompilationContext

    asked = []

    def flags(self, supported_major_versions=None):
        asked.append(supported_major_versions)
        raise Stopped

    module = sys.modules[builder.__module__]
    real = CompilationContext.get_nvcc_flags_list
    CompilationContext.get_nvcc_flags_list = flags
    fetching: dict = {"get_artifact": lambda *_, **__: b"-", "get_meta_hash": lambda *_, **__: "-"}
    fetching |= {name: lambda *_, **__: None for name in ("ensure_symlink", "verify_symlinked_headers")}
    kept = {name: getattr(module, name) for name in (*fetching, "gen_jit_spec") if hasattr(module, name)}
    try:
        for name in kept:
            setattr(module, name, fetching.get(name, stop))
        builder(**arguments(builder, given))
    except Exception:
        pass
    finally:
        CompilationContext.get_nvcc_flags_list = real
        for name, value in kept.items():
            setattr(module, name, value)
    return asked[0] if asked else None


def arguments(builder, given):
    """Those it has; names of torch types are looked up."""
    wanted = inspect.signature(builder).parameters
    return {name: looked_up(value) for name, value in given.items() if name in wanted}


def looked_up(value):
    if isinstance(value, str) and value.startswith("torch."):
        import torch

        return getattr(torch, value[len("torch.") :])
    return value


def stop(*_, **__):
    raise Stopped


def with_stubs(module, pattern, stub, call, refusals, passing=False):
    """True if the call got to a stub (or, if `passing`, through), False if it was refused, None otherwise."""
    kept = {
        name: value for name, value in vars(module).items() if re.fullmatch(pattern, name) and callable(value)
    }
    try:
        for name in kept:
            setattr(module, name, stub)
        call()
        return True if passing else None
    except Stopped:
        return True
    except refusals:
        return False
    except Exception:
        return None
    finally:
        for name, value in kept.items():
            setattr(module, name, value)


WAYS = {"choice": by_choice, "check": by_check, "builder": by_builder}

if __name__ == "__main__":
    print("\n" + json.dumps(main(json.loads(sys.argv[1]))))
