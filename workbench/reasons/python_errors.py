"""Names, signatures and imports that do not fit: who asked, who was asked, and when."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import sign
from .tracebacks import importing, raiser

GROUND = (
    "triton",
    "triton_kernels",
    "torch",
    "cutlass",
    "nvidia_cutlass_dsl",
    "cuda",
    "tvm_ffi",
    "numpy",
    "quack",
)
"""Packages that kernel libraries are built on: a name they lack is a matter of versions that do not fit."""

LIBRARIES = (*GROUND, "flashinfer")
"""Packages below the user's code: a wrong call from inside one of them is a matter of their versions."""


def _owner(name: str) -> str:
    return name.strip("'\"` ").partition(".")[0]


def _missing(evidence: Evidence, asked: str, where: int) -> str:
    """A part that an installed package lacks: its interface, unless it is ground, or lacks it to itself."""
    if evidence.stage == "find":
        return "api_changed"
    owner = _owner(asked)
    return "version_skew" if owner in (*GROUND, raiser(evidence, where)) else "api_changed"


def _module(evidence: Evidence, found: re.Match[str], where: int) -> str:
    name = found.group(1)
    if "is not a package" in found.string:
        return "env_problem"
    if "." in name:
        return _missing(evidence, name, where)
    return "import_error"


def _attribute(evidence: Evidence, found: re.Match[str], where: int) -> str:
    return _missing(evidence, found.group(1), where)


def _member(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """An object without an attribute: `None` and plain data say nothing of versions."""
    if found.group(1) in ("NoneType", "list", "dict", "tuple", "str", "int", "float"):
        return "import_error" if importing(evidence, where) else None
    return "import_error" if importing(evidence, where) else "api_changed"


def _signature(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """A call that does not fit: the caller's, unless a library calls itself or another one wrongly."""
    if importing(evidence, where):
        return "import_error"
    return "version_skew" if raiser(evidence, where) in LIBRARIES else "api_changed"


def _only_importing(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    return "import_error" if importing(evidence, where) else None


PYTHON = (
    sign(
        _module,
        r"No module named ['\"]?([\w.]{1,200})",
    ),
    sign(
        "import_error",
        "partially initialized module",
    ),
    sign(
        _attribute,
        r"cannot import name ['\"]?\w{1,100}['\"]? from ['\"]?([\w.]{1,200})",
    ),
    sign(
        _attribute,
        r"AttributeError: module ['\"]([\w.]{1,200})['\"] has no attribute",
    ),
    sign(
        "version_skew",
        "undefined symbol",
        "symbol lookup error",
        r"not defined in file \S{1,200} with link time reference",
        r"version `?['\"]?(?:GLIBC|GLIBCXX|CXXABI)\S{0,20} not found",
        "compiled (?:using|against) .{0,60}(?:NumPy 1|different version)",
        "ABI (?:version )?mismatch",
        "binary incompatibility",
        note="binaries built for other versions",
    ),
    sign(
        "import_error",
        "cannot open shared object file",
    ),
    sign(
        _signature,
        r"TypeError: .{0,200}unexpected keyword argument",
        r"TypeError: .{0,200}missing (?:\d+|a) required",
        r"TypeError: .{0,200}takes .{0,40}positional argument",
        r"TypeError: .{0,200}multiple values for (?:keyword )?argument",
    ),
    sign(
        "api_changed",
        "Mismatched type on argument",
    ),
    sign(
        _signature,
        r"Expected? (?:at most )?\d+ (?:positional )?arguments? but (?:got|received)",
        "Mismatched number of arguments when calling",
        "incompatible function arguments",
        r"expected at most \d+ argument",
    ),
    sign(
        _member,
        r"AttributeError: ['\"]?([\w.]{1,100})['\"]? object has no attribute",
    ),
    sign(
        "api_changed",
        r"AttributeError: type object ['\"]?[\w.]{1,100}['\"]? has no attribute",
    ),
    sign(
        _only_importing,
        r"(?-i:\b(?:Type|Attribute|Value|Name|Syntax|Runtime|Key|Import)Error): ",
    ),
)
