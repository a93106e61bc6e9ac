"""Checks what a worker tells: the called code shares its process, and may have written the line itself.

Whoever uses facts afterwards may rely on their kinds, and on every number being one that can be stored.
"""

from collections.abc import Mapping
from typing import Any

from workbench.store import LONGEST_TIME
from workbench.strict_json import read_json

KINDS: Mapping[str, type | tuple[type, ...]] = {
    "stage": str, "end": str, "inputs_hash": str, "ends_worker": bool, "prebuilt": list, "building": dict,
    "found": dict, "check": dict, "check_changed": dict, "time": dict, "exception": dict, "stopped": dict,
    "forensic": dict, "tensors": list, "refused": str,
}  # fmt: skip
NUMBERS = ("untouched", "nonfinite", "tolerance", "median_us", "q1_us", "q3_us", "min_us")
NUMBERS_OR_NONE = ("error", "total", "host_median_us")
TEXTS = ("reason", "type", "message", "where")


def read(line: bytes) -> dict[str, Any]:
    """The facts of a line. Raises ValueError for what is not of the kinds above."""
    facts = read_json(line)
    if not isinstance(facts, dict) or not isinstance(facts.get("n"), int) or not _is_number(facts.get("at")):
        raise ValueError("no facts of ours")
    for name, value in facts.items():
        if name in KINDS and not isinstance(value, KINDS[name]):
            raise ValueError(f"{name} is a {type(value).__name__}")
        if isinstance(value, dict):
            _check_members(name, value)
    if not all(isinstance(name, str) for name in facts.get("prebuilt", ())):
        raise ValueError("prebuilt is not of names")
    return facts


def _check_members(name: str, facts: Mapping[str, Any]) -> None:
    for member, value in facts.items():
        right = (
            _is_number(value) if member in NUMBERS
            else value is None or _is_number(value) if member in NUMBERS_OR_NONE
            else isinstance(value, str) if member in TEXTS
            else _are_times(value) if member == "samples_us"
            else True
        )  # fmt: skip
        if not right:
            raise ValueError(f"{name}.{member} is not of its kind")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_times(value: Any) -> bool:
    return isinstance(value, list) and all(_is_number(each) and 0 <= each < LONGEST_TIME for each in value)
