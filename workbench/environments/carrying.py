"""Wheels for a machine without a network: what an environment installs, and the small packages beside it."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import index
from .declaration import save
from .dependencies import declared_by, fitting, heavy, in_folder, part
from .pins import Sources
from .requirement import component_version
from .spec import Environment
from .stacks import expand

if TYPE_CHECKING:
    from packaging.requirements import Requirement

ROUNDS = 8  # requirements of requirements of ...


def carry(environment: Environment, sources: Sources, folder: Path) -> None:
    """Puts into `folder` all that the environment takes from wheels: of `sources.wheels`, else of the index.

    torch, numpy and what else is heavy is inherited, and not carried. Raises BuildError.
    """
    from packaging.requirements import Requirement

    if not environment.requirements:
        return
    asked = expand(environment, sources).environment.requirements
    plain = [each for each in asked if not component_version(each) and not each.startswith("/")]
    _gather(map(Requirement, plain), sources, folder)
    save(environment, sources, folder)
    for _ in range(ROUNDS):
        wanted = [
            each
            for each in _required(folder, sources.release)
            if not in_folder(folder, each, sources.release)
        ]
        if not wanted:
            return
        _gather(wanted, sources, folder)


def fetch_needs(names: Iterable[str], sources: Sources, folder: Path) -> None:
    """Puts the newest wheels of these packages into `folder`. Raises BuildError."""
    from packaging.requirements import Requirement

    folder.mkdir(parents=True, exist_ok=True)
    _gather([Requirement(each) for each in names], sources, folder)


def _gather(requirements: "Iterable[Requirement]", sources: Sources, folder: Path) -> None:
    """From the folder of wheels as far as it has them, the rest from the index."""
    wanted = {}
    for each in requirements:
        there = fitting(sources.wheels, each, sources.release) if sources.wheels else []
        if there:
            shutil.copyfile(there[-1], folder / there[-1].name)
        elif not in_folder(folder, each, sources.release):
            wanted[each.name] = f"{each.name}{each.specifier}"
    if wanted:
        sources.say(f"fetching {', '.join(wanted.values())}")
        index.fetch(sorted(wanted.values()), folder, sources.release)


def _required(folder: Path, release: str) -> "list[Requirement]":
    """What the wheels there declare, less what is inherited."""
    from packaging.utils import canonicalize_name

    declared = [
        (canonicalize_name(wheel.name.partition("-")[0]), each)
        for wheel in sorted(folder.glob("*.whl"))
        for each in declared_by(wheel, release)
    ]
    own = {owner for owner, _ in declared}
    return [
        each
        for owner, each in declared
        if not heavy(each.name) or part(canonicalize_name(each.name), owner, own)
    ]
