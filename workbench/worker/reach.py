"""Every tensor that can be reached from a call: through closures, defaults, containers and fields of objects.

Not followed: the names of modules, and classes. A tensor that is known by its bare address alone is not found.
"""

import contextlib
import functools
import gc
import sys
import types
from collections import deque
from typing import Any

MOST_OBJECTS = 200_000
LEAVES = (
    str, bytes, bytearray, int, float, complex, type(None), type,
    types.ModuleType, types.BuiltinFunctionType, types.CodeType,
)  # fmt: skip


def tensors(call, inputs):
    """(name, tensor) pairs, each once, in an order that is the same in every process.

    The name is the shortest path there, such as `asked.w.storage.data`; from the call rather than the inputs.
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for name, root in (("", call), ("inputs", inputs)):
        _walk(name, root, found, seen)
    return list(found.items())


def _walk(name, root, found, seen):
    waiting = deque([(name, root)])
    while waiting and len(seen) < MOST_OBJECTS:
        path, value = waiting.popleft()
        if isinstance(value, LEAVES) or id(value) in seen:
            continue
        seen.add(id(value))
        if is_tensor(value):
            found[path if path not in found else f"{path} ({len(found)})"] = value
        else:
            waiting.extend((_joined(path, step), member) for step, member in _members(value))


def _joined(path, step):
    if isinstance(step, str) and step.isidentifier():
        return f"{path}.{step}" if path else step
    return f"{path}[{repr(step)[:60]}]"


def _members(value):
    """(step, member) pairs of a container, a function or an object."""
    if isinstance(value, dict):
        of_a_module = "__builtins__" in value
        return [] if of_a_module else list(value.items())
    if isinstance(value, (list, tuple, set, frozenset, deque)):
        return list(zip(getattr(value, "_fields", None) or range(len(value)), value))  # noqa: B905
    if isinstance(value, functools.partial):
        return [("function", value.func), *enumerate(value.args), *value.keywords.items()]
    if isinstance(value, types.MethodType):
        return [("function", value.__func__), ("self", value.__self__)]
    if isinstance(value, types.FunctionType):
        return _of_function(value)
    return _fields(value)


def _of_function(function):
    """Not its module's names: they hold far more than the function uses."""
    yield from _closure(function)
    yield "defaults", function.__defaults__
    yield "defaults", function.__kwdefaults__
    yield from list(vars(function).items())


def _closure(function):
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):  # noqa: B905
        with contextlib.suppress(ValueError):  # not filled yet
            yield name, cell.cell_contents


def _fields(value):
    """What an object holds itself, in `__dict__` or in slots; properties are not asked."""
    with contextlib.suppress(Exception):  # an object may answer its own way, or not
        yield from list(vars(value).items())
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            member = kind.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                with contextlib.suppress(AttributeError):  # not set
                    yield name, member.__get__(value)


def is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(type(value), torch.Tensor)


def others(known):
    """Tensors of this process that are alive and not among the known ones."""
    known = {id(each) for each in known}
    return [each for each in gc.get_objects() if is_tensor(each) and id(each) not in known]
