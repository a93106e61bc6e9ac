"""What a tool's process hands over: a file of JSON lines, written as they come, read as far as they are whole."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def write(place: Path, row: Row) -> None:
    with place.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def read(place: Path) -> list[Row]:
    found = []
    for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else []:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return [row for row in found if isinstance(row, dict)]


def tried(column: str, timed_us: Callable[[], float]) -> Row:
    """The figure in its column, or why there is none."""
    try:
        return {column: round(timed_us(), 3)}
    except Exception as problem:
        return {column: f"{type(problem).__name__}: {problem}"[:200]}
