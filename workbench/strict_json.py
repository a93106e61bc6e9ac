"""JSON from others, read with limits on its keys, numbers and depth."""

import json
import math
from pathlib import Path
from typing import Any

from workbench.reading import read

LONGEST_LINE = 4_000_000  # bytes; our own lines are a few thousand
CONTAINERS = (dict, list)
DEEPEST = 20  # containers in each other; what walks through a value later may recurse


def read_json(text: bytes | str) -> Any:
    """The value. Raises ValueError for a key that occurs twice, NaN, a number beyond a float, or deep nesting."""
    if len(text) > LONGEST_LINE:
        raise ValueError(f"a line of more than {LONGEST_LINE} bytes")
    try:
        found = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text,
            object_pairs_hook=_no_twins,
            parse_constant=_no_constants,
            parse_int=_short,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError("nested too deeply (recursion)") from None
    _check_depth(found, DEEPEST)
    return found


def json_in(file: Path) -> Any:
    """What the file holds. Raises ValueError, which names the file; OSError."""
    try:
        return read_json(read(file, wait_s=0))
    except ValueError as problem:
        raise ValueError(f"{file} is torn, or no JSON: {problem}; make it anew") from problem


def object_in(file: Path) -> dict[str, Any]:
    """The object that a file holds; an empty one where there is no file, or something else in it."""
    try:
        found = read_json(read(file, wait_s=0))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_constants(word: str) -> float:
    raise ValueError(f"{word} is not a number that JSON has")


def _short(digits: str) -> int:
    if len(digits) > 20:  # 64 bits and a sign
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is not a finite number")
    return number


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, CONTAINERS):
        return
    if not left:
        raise ValueError(f"nested deeper than {DEEPEST}")
    for member in value.values() if isinstance(value, dict) else value:
        if isinstance(member, CONTAINERS):  # most are not, and a call for each is a third of all parsing
            _check_depth(member, left - 1)
