"""Puts findings next to the tensors of the call, by the addresses that the worker told before it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.untrusted import plain

from .finding import Finding


def placed(found: Iterable[Finding], tensors: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """The findings with the tensor in or beside which each lies, and without addresses, which say nothing later."""
    known = [each for each in tensors if _is_place(each)]
    return [_without_addresses(_beside(each, known)) for each in found]


def _is_place(tensor: Any) -> bool:
    if not isinstance(tensor, Mapping) or not isinstance(tensor.get("name"), str):
        return False
    return all(
        isinstance(tensor.get(name), int) and 0 <= tensor[name] < 2**64 for name in ("address", "bytes")
    )


def _beside(finding: Finding, tensors: Sequence[Mapping[str, Any]]) -> Finding:
    """By the block that the tool names; where it names none, by the address itself."""
    base, address = finding["_base"], finding["_address"]
    point = base if base is not None else address
    tensor = next((each for each in tensors if point is not None and _holds(each, point)), None)
    if tensor is None:
        return finding
    found = {**finding, "tensor": plain(tensor["name"]), "of_bytes": tensor["bytes"]}
    if base is None:
        found.update(side="inside", distance_bytes=point - tensor["address"])
    return found


def _holds(tensor: Mapping[str, Any], point: int) -> bool:
    return 0 <= point - tensor["address"] < max(1, tensor["bytes"])  # type: ignore[no-any-return]


def _without_addresses(finding: Finding) -> Finding:
    return {name: value for name, value in finding.items() if not name.startswith("_")}
