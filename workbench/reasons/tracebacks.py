"""Whose code was running when a line was printed, by the Python frames around it."""

from __future__ import annotations

import re

from .evidence import Evidence
from .text import speaker

_FRAME = re.compile(
    r'File "([^"]{1,400})", line \d+(?:, in (\S+))?\s*$|(?:^|\s)(/\S{1,300}\.py):\d+:(?: in (\S+))?'
)
_PACKAGE = re.compile(r"(?:site-packages|dist-packages)/([A-Za-z0-9_]+)|/(flashinfer)/")


def _frames(evidence: Evidence, where: int) -> list[tuple[str, str]]:
    """(file, function) of the frames that the same process printed shortly before or right after the line."""
    who = speaker(evidence.lines[where])
    before = [line for line in evidence.lines[max(0, where - 400) : where] if speaker(line) == who]
    window = before[-25:] + list(evidence.lines[where + 1 : where + 2])
    found = [match for line in window if (match := _FRAME.search(line))]
    return [(a or c or "", b or d or ("<module>" if a else "")) for a, b, c, d in (m.groups() for m in found)]


def raiser(evidence: Evidence, where: int) -> str:
    """The package whose code was running: "" for a user's script, or where no frame was printed."""
    for file, _ in reversed(_frames(evidence, where)):
        package = _PACKAGE.search(file)
        name = (package.group(1) or package.group(2)) if package else ""
        if name != "tvm_ffi" and not file.endswith((".pxi", ".pyx")):
            return name
    return ""


def importing(evidence: Evidence, where: int) -> bool:
    """Whether a library was still being imported."""
    if evidence.stage == "import":
        return True
    frames = _frames(evidence, where)
    if any("importlib" in file for file, _ in frames):
        return True
    inner = frames[1:] or frames  # the outermost may be a program that is a module itself
    return any(function == "<module>" and _PACKAGE.search(file) for file, function in inner)
