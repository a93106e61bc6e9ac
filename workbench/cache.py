"""A copy of a results file as columns, quick to read; made anew when the file changes, and never needed.

The rule: a copy is used only if it is whole, the user's own, and of exactly this file as this code reads it. In
every other case it is as if there were none. Nothing in it is executed.
"""

import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from workbench.columns import Arrays, Column, coded, packed, unpacked
from workbench.results import Outcome, Result, Trial

SMALLEST = 50_000  # bytes: what is smaller is parsed as quickly
QUIET_S = 2  # a file younger than that may yet change without a sign: same size, same tick of the clock
KEPT_DAYS = 30
HEAD = 4096  # bytes
DIGEST = 16  # bytes
FIELDS = [each.name for each in fields(Result)]
MADE: dict[str, Callable[[Any], Any]] = {"trial": lambda facts: Trial(**facts), "outcome": Outcome}
READERS = ("cache", "columns", "results", "store", "strict_json")  # whose code decides what a file says


@dataclass(frozen=True)
class Content:
    """What a file of results holds; a problem begins with its place in the file, `:12: not an object`."""

    attempts: list[Result]
    problems: list[str]


def place() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (
        (Path(base) if Path(base).is_absolute() else Path.home() / ".cache")
        / "flashinfer-workbench"
        / "results"
    )


def stamp(file: Path) -> str:
    """By which a change of the file is known: its name, size, times and head. Raises OSError."""
    with file.open("rb") as opened:
        known = os.fstat(opened.fileno())
        head = opened.read(HEAD)
    facts = (str(file.resolve()), known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino, _code())
    return hashlib.blake2b(repr(facts).encode() + head, digest_size=DIGEST).hexdigest()


def kept(file: Path, known: str) -> Content | None:
    """The copy, if there is one with this stamp."""
    try:
        data = _whole(_copy(file))
        return _unpacked(data, known) if data else None
    except (OSError, ValueError, LookupError, TypeError):  # not there, torn, or of another make
        return None


def known(file: Path) -> bool:
    """Whether there is a copy of the file as it is now. Raises OSError where the file cannot be read."""
    now = stamp(file)
    try:
        head, _, _ = _whole(_copy(file)).partition(b"\n")
        return bool(json.loads(head or b"{}").get("stamp") == now)
    except (OSError, ValueError, AttributeError):
        return False


def _whole(copy: Path) -> bytes:
    """What is in it; nothing if it is torn, or somebody else's. Raises OSError."""
    with copy.open("rb") as opened:
        digest, data = opened.read(DIGEST), opened.read()
        own = os.fstat(opened.fileno()).st_uid == os.geteuid()
    return data if own and digest == _digest(data) else b""


def keep(file: Path, known: str, content: Content) -> Content:
    """The same content, which takes less memory then; a copy of it is put where `kept` finds it.

    Not for a small file or one that is changing. A folder that cannot be written is no trouble.
    """
    if file.stat().st_size < SMALLEST:
        return content
    data = _packed(content, known)
    with contextlib.suppress(OSError):
        there = file.stat()
        if time.time() - max(there.st_mtime, there.st_ctime) > QUIET_S and stamp(file) == known:
            _write(data, _copy(file))
    return _unpacked(data, known) or content


def _write(data: bytes, copy: Path) -> None:
    """All of it or nothing; copies that are old are dropped, for nobody else clears them away."""
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for each in copy.parent.iterdir():
        if time.time() - each.stat().st_mtime > KEPT_DAYS * 86_400:
            each.unlink()
    with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as beside:
        beside.write(_digest(data) + data)
    Path(beside.name).replace(copy)


def _packed(content: Content, known: str) -> bytes:
    """One line of JSON, and the arrays behind it."""
    arrays: Arrays = []
    rows = content.attempts
    columns = [_column(name, [getattr(row, name) for row in rows], arrays) for name in FIELDS]
    kinds = [(each.typecode, len(each)) for each in arrays]
    head = {"stamp": known, "problems": content.problems, "columns": columns, "arrays": kinds}
    return json.dumps(head).encode() + b"\n" + b"".join(each.tobytes() for each in arrays)


def _column(name: str, values: list[Any], arrays: Arrays) -> Column:
    if name not in MADE:
        return packed(values, arrays)
    return coded([_facts(each) if isinstance(each, Trial) else each for each in values], arrays)


def _result(row: Iterable[Any]) -> Result:
    """Without its constructor, a quarter of all loading: what a copy holds was checked when it was parsed."""
    result = object.__new__(Result)
    vars(result).update(zip(FIELDS, row, strict=True))
    return result


def _facts(trial: Trial) -> dict[str, Any]:
    return {each.name: getattr(trial, each.name) for each in fields(Trial)}


def _unpacked(data: bytes, known: str) -> Content | None:
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    if head["stamp"] != known:
        return None
    arrays = _arrays(head["arrays"], memoryview(rest))
    for name, column in zip(FIELDS, head["columns"], strict=True):
        if name in MADE:
            column[1] = [MADE[name](value) for value in column[1]]  # one object for all rows that have it
    rows = zip(*(unpacked(column, arrays) for column in head["columns"]), strict=True)
    return Content([*map(_result, rows)], head["problems"])


def _arrays(kinds: list[tuple[str, int]], data: memoryview) -> Arrays:
    arrays = []
    for code, length in kinds:
        numbers = array(code)
        size = length * numbers.itemsize
        numbers.frombytes(data[:size])
        data = data[size:]
        arrays.append(numbers)
    return arrays


def _copy(file: Path) -> Path:
    return place() / hashlib.blake2b(os.fsencode(file.resolve()), digest_size=DIGEST).hexdigest()


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST).digest()


@cache
def _code() -> str:
    """What this code and this machine make of a file: another version may read it otherwise."""
    sources = [(Path(__file__).parent / f"{name}.py").read_bytes() for name in READERS]
    return hashlib.blake2b(b"".join(sources) + sys.byteorder.encode(), digest_size=DIGEST).hexdigest()
