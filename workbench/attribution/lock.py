"""The components of the environment that an attempt ran in, as its record names them."""

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.results import Result


def components(result: Result) -> dict[str, str]:
    """The lock: every package of the environment by its version, and the Python."""
    environment = result.provenance.get("environment", {})
    parts = [environment.get(name) for name in ("inherited", "packages")]
    found = {
        str(name): str(version) for part in parts if isinstance(part, dict) for name, version in part.items()
    }
    return found | {"python": str(environment.get("python", ""))}


def lacks(result: Result, package: str) -> bool:
    """Whether its environment's record, which must name some package, does not name this one."""
    named = components(result).keys() - {"python"}
    return bool(named) and package not in named


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in sorted({*one, *other}):
        if one.get(name) != other.get(name):
            yield name, one.get(name), other.get(name)
