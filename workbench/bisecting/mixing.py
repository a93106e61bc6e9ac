"""Two built environments, and those between: the good one with some packages as the bad one has them. Pure."""

import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from workbench.environments import Built, Environment, parse
from workbench.environments.requirement import CARRIED, COMPONENT, DONOR, distribution_of, is_stack


@dataclass(frozen=True)
class Move:
    """A package that differs; an empty version where an environment has none."""

    package: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.package} {self.before or 'none'} -> {self.after or 'none'}"


def moves(good: Built, bad: Built) -> list[Move]:
    """Every package of which the two have different versions, by name."""
    before, after = versions(good), versions(bad)
    return [
        Move(name, before.get(name, ""), after.get(name, ""))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]


def versions(built: Built) -> dict[str, str]:
    return {**built.inherited, **built.packages}


def mixed(good: Built, bad: Built, found: Sequence[Move], moved: Set[str]) -> Environment:
    """`good` with the packages `moved` as `bad` has them, every other package of its own pinned as it is."""
    pins = {name: _word(name, version, good) for name, version in good.packages.items()}
    pins = pins if good.environment.requirements else {}
    for each in found:
        if each.package in moved:
            pins.pop(each.package, None)
            if each.after:
                pins[each.package] = _word(each.package, each.after, bad)
    asked = parse(shlex.join(pins.values()) or "here", good.environment.python)
    torch = {good.environment.torch, bad.environment.torch} - {"inherit"}
    return replace(asked, name=_name(good, bad, found, moved), torch=next(iter(torch), "inherit"))


def strays(built: Built, good: Built, found: Sequence[Move], moved: Set[str]) -> list[str]:
    """What it has otherwise than was wanted, as sentences: an installer or the interpreter had its own mind."""
    wanted = versions(good) | {each.package: each.after for each in found if each.package in moved}
    has = versions(built)
    return [
        f"{name} is {has.get(name) or 'not there'} where {version or 'none'} is wanted"
        for name, version in sorted(wanted.items())
        if has.get(name, "") != version
    ]


def _name(good: Built, bad: Built, found: Sequence[Move], moved: Set[str]) -> str:
    """By the smaller difference from either end."""
    kept = [each for each in found if each.package not in moved]
    ends = good.environment.name, bad.environment.name
    if not kept:
        return f"{ends[0]} with all of {ends[1]}"
    if len(kept) < len(moved):
        return f"{ends[1]} with {_listed({each.package: each.before for each in kept})}"
    return f"{ends[0]} with {_listed({each.package: each.after for each in found if each.package in moved})}"


def _listed(packages: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" if version else f"no {name}" for name, version in packages.items())


def _word(name: str, version: str, built: Built) -> str:
    """What installs it: the wheel or address that was asked for, else its exact version."""
    for asked in built.environment.requirements:
        special = asked.startswith("/") or " @ " in asked
        if special and not is_stack(asked) and distribution_of(asked) == name:
            return asked
    return f"{COMPONENT}@{DONOR}=={version}" if name == CARRIED else f"{name}=={version}"
