"""The signature that callers meet: the def's own, changed by decorators and by what **kwargs is handed on to."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from .behind import handed_on
from .decorators import decorated
from .definitions import Definition, Library, place_of
from .signature import EITHER, KEYWORD, Parameter, Signature, read
from .values import Constant, Local, LocalClass


def signatures(library: Library, definition: Definition) -> Signature | None:
    """What a call of it has to fit; None for a class whose constructor cannot be read."""
    return signature_of(library, definition.value)


def signature_of(library: Library, value: Any) -> Signature | None:
    """Of a function or class of the library."""
    return _constructor(library, value) if isinstance(value, LocalClass) else _function(library, value)


def _function(library: Library, function: Local) -> Signature:
    node = function.node
    if isinstance(node, ast.Lambda):
        return read(node.args, drop_first=False)
    names = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    drop = function.owner is not None and "staticmethod" not in names
    own = read(node.args, drop_first=drop, constants=_constants(library, function))
    own = handed_on(library, function, own, lambda value: signature_of(library, value))
    for decorator in reversed(node.decorator_list):
        own = decorated(library, function, decorator, own)
    return own


def _constants(library: Library, function: Local) -> dict[str, str]:
    """Upper-case names among the defaults, as the literal that they stand for."""
    node: Any = function.node
    found = {}
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        if isinstance(default, ast.Name) and default.id.isupper():
            for each in library.ev.value(default, place_of(function)):
                if isinstance(each, Constant):
                    found[default.id] = repr(each.value)
    return found


def _constructor(library: Library, cls: LocalClass, depth: int = 0) -> Signature | None:
    found = library.ev.class_attribute(cls, "__init__", True) or library.ev.class_attribute(
        cls, "__new__", True
    )
    for each in found:
        if isinstance(each, Local):
            return _function(library, each)
    kinds = {
        ast.unparse(each.func if isinstance(each, ast.Call) else each).rpartition(".")[2]
        for each in cls.node.decorator_list
    }
    if "dataclass" in kinds or any("NamedTuple" in ast.unparse(base) for base in cls.node.bases):
        return _fields(library, cls, depth)
    return Signature(()) if not cls.node.bases else None


def _fields(library: Library, cls: LocalClass, depth: int) -> Signature:
    """The constructor that dataclass or NamedTuple writes."""
    rows: dict[str, Parameter] = {}
    for base in library.ev.bases(cls):
        if isinstance(base, LocalClass) and depth < 5 and (above := _constructor(library, base, depth + 1)):
            rows |= {each.name: each for each in above.parameters}
    kw_only = any("kw_only=True" in ast.unparse(each) for each in cls.node.decorator_list)
    kind = KEYWORD if kw_only else EITHER
    for node in cls.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            annotation = ast.unparse(node.annotation)
            text = ast.unparse(node.value) if node.value else None
            if annotation.endswith("KW_ONLY"):
                kind = KEYWORD
            elif "ClassVar" not in annotation and "init=False" not in (text or ""):
                bare = text and text.startswith(("field(", "dataclasses.field(")) and "default" not in text
                rows[node.target.id] = Parameter(node.target.id, kind, 0, None if bare else text, annotation)
    return Signature(tuple(replace(each, index=index) for index, each in enumerate(rows.values())))
