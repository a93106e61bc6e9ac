"""JSON values as columns: what rows have in common is kept once, and numbers as numbers.

Pure. A column is a JSON-able list that begins with its kind; it names arrays by their place in a list beside it.
Values that are equal may come back as one object, so nobody may change them.
"""

import json
from array import array
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Any

COMMON = 4  # so many rows a distinct value, on average, and the values are kept apart from the rows

Column = list[Any]
Arrays = list[array]


def packed(values: Sequence[Any], arrays: Arrays) -> Column:
    """A column of these JSON values; its numbers are added to `arrays`."""
    if all(type(value) is float for value in values):
        return ["numbers", _place(array("d", values), arrays)]
    if all(type(value) is list and _are_floats(value) for value in values):
        ends = array("I", [0])
        for value in values:
            ends.append(ends[-1] + len(value))
        flat = array("d", (each for value in values for each in value))
        return ["series", _place(flat, arrays), _place(ends, arrays)]
    shared = coded(values, arrays, len(values) // COMMON)
    if not shared and all(type(value) is dict for value in values):
        return _tables(values, arrays)
    return shared or coded(values, arrays)


def coded(values: Sequence[Any], arrays: Arrays, most: int | None = None) -> Column:
    """The distinct values, and which of them each row has; nothing if there are more than `most`."""
    codes: dict[str, int] = {}
    numbers = array("I")
    for value in values:
        numbers.append(
            codes.setdefault(json.dumps(value), len(codes))
        )  # 1 and 1.0 are equal, their texts are not
        if most is not None and len(codes) > most:
            return []
    return ["coded", [json.loads(text) for text in codes], _place(numbers, arrays)]


def _tables(values: Sequence[dict[str, Any]], arrays: Arrays) -> Column:
    """A table for each set of keys, a column for each key, and which table each row is in."""
    members: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for value in values:
        members.setdefault(tuple(value), []).append(value)
    places = {keys: place for place, keys in enumerate(members)}
    tables = [
        [keys, [packed([row[key] for row in rows], arrays) for key in keys]] for keys, rows in members.items()
    ]
    return ["tables", tables, _place(array("I", (places[tuple(value)] for value in values)), arrays)]


def unpacked(column: Column, arrays: Arrays) -> list[Any]:
    """The values again."""
    kind, *parts = column
    if kind == "numbers":
        return arrays[parts[0]].tolist()
    if kind == "series":
        flat = arrays[parts[0]].tolist()
        return [flat[start:end] for start, end in pairwise(arrays[parts[1]])]
    codes = arrays[parts[1]]
    if kind == "coded":
        return list(map(parts[0].__getitem__, codes))
    rows = [_rows(keys, columns, arrays) for keys, columns in parts[0]]
    return [next(rows[code]) for code in codes]


def _rows(keys: list[str], columns: list[Column], arrays: Arrays) -> Iterator[dict[str, Any]]:
    if not keys:
        return ({} for _ in count())
    rows = zip(*(unpacked(each, arrays) for each in columns), strict=True)
    return (dict(zip(keys, row, strict=True)) for row in rows)


def _are_floats(values: list[Any]) -> bool:
    return all(type(value) is float for value in values)


def _place(numbers: array, arrays: Arrays) -> int:
    arrays.append(numbers)
    return len(arrays) - 1
