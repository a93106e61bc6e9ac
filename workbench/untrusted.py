"""Text that came with results: names, messages, stderr. Anyone may have written it.

The rule: nothing from a result reaches a page or a terminal but through `plain` or `escaped`.
"""

import html
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

NAME = 120  # characters kept of a name
MESSAGE = 600  # and of a message
CUT = " [...]"

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[@-Z\\-_])", re.DOTALL)
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_VARYING = re.compile(
    r"0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b|(?:/[\w.+-]+){2,}/|(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?(?![\w.]\w)"
    r"|\b\d{3,}\b|(?<=\brow )\d+|(?<=\bcolumn )\d+|\d+ (?:elements? )?(?=as far off)"
)


def plain(text: object, longest: int = NAME) -> str:
    """One line without terminal escapes, control characters or tricks of writing direction."""
    return " ".join(lines(text, longest).split())


def lines(text: object, longest: int = MESSAGE) -> str:
    """As `plain`, with line ends kept."""
    return _cleaned(
        str(text)[: 20 * longest], longest
    )  # a megabyte of colours is not worth cleaning to its end


@lru_cache(2_000)  # pages say the same few names again and again
def _cleaned(text: str, longest: int) -> str:
    read = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    read = _CONTROLS.sub("", read).replace("\t", "    ")
    return read if len(read) <= longest else read[:longest] + CUT


def escaped(text: object, longest: int = NAME) -> str:
    """As `plain`, for HTML text and attributes."""
    return html.escape(plain(text, longest))


def escaped_lines(text: object, longest: int = MESSAGE) -> str:
    """As `lines`, for HTML."""
    return html.escape(lines(text, longest))


def normalised(message: str) -> str:
    """A message without what differs from one time to the next: addresses, folders, decimals, long numbers."""
    return _VARYING.sub("…", plain(message, MESSAGE))


def steady(message: str) -> str:
    """The beginning of a message, up to the first part that differs from one time to the next."""
    return _VARYING.split(message[:NAME], maxsplit=1)[0].strip()


def number(facts: Mapping[str, Any], name: str) -> float | None:
    """A positive number, or None where there is none or something else."""
    value = facts.get(name)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
    return float(value) if usable else None  # type: ignore[arg-type]


def whole(text: object) -> int | None:
    """A whole number in decimal digits, up to nine; `²` is a digit for Python, and no number."""
    return int(str(text)) if re.fullmatch(r"[0-9]{1,9}", str(text)[:10]) else None


def part(facts: Any, *names: str) -> Any:
    """A value inside nested objects, or None where something else stands in the way."""
    for name in names:
        facts = facts.get(name) if isinstance(facts, dict) else None
    return facts


def items(value: Any) -> list[Any]:
    """What is in a list; nothing where something else stands there."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; nothing where something else stands there."""
    return [each for each in items(value) if isinstance(each, dict)]


def natural(text: object) -> tuple[tuple[int, float, str], ...]:
    """A key that sorts `0.6.8` before `0.6.11`."""
    parts = re.split(r"(\d+)", str(text)[:NAME])
    return tuple((0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts)
