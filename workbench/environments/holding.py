"""What became of a stack's pins in an environment: met, deviated from, or absent. Pure."""

from collections.abc import Mapping
from typing import Any

from .requirement import CARRIED, DONOR


def held(
    pins: Mapping[str, str], packages: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """What became of each pin: `pinned`, `has`, `from` (own, inherited, component), `state`.

    State: `met`, `deviates`, or `absent`, which only matters to kernels that need it.
    """
    return {name: _held(name, pinned, packages, inherited) for name, pinned in pins.items()}


def deviations(pins: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence for each pin that another version stands in for."""
    return [
        f"{name} {each['has']} {each['from']}, the stack pins {shown(each['pinned'])}"
        for name, each in pins.items()
        if each["state"] == "deviates"
    ]


def shown(specifier: str) -> str:
    """An exact version without its sign, else as it is written."""
    single = "," not in specifier and specifier.startswith("==")
    return specifier.lstrip("=") if single else specifier or "any"


def _held(
    name: str, pinned: str, packages: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion

    places = ({name: packages.get(CARRIED, "")} if name == DONOR else {}, packages, inherited)
    for place, origin in zip(places, ("component", "own", "inherited"), strict=True):
        if has := place.get(name, ""):
            try:
                met = SpecifierSet(pinned).contains(has, prereleases=True)
            except InvalidVersion:
                met = False
            return {
                "pinned": pinned,
                "has": has,
                "from": origin,
                "state": "met" if met else "deviates",
            }
    return {"pinned": pinned, "has": "", "from": "", "state": "absent"}
