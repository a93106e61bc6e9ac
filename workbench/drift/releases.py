"""Where a release comes from: a wheel on disk, a folder of wheels, or the index, through uv and never installed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from workbench.environments import BuildError, component
from workbench.environments.alone import alone
from workbench.environments.installer import install
from workbench.environments.requirement import COMPONENT, component_version, exact, read_word

from .tree import Tree, open_tree

FOLDER = Path(".environments") / "wheels-read"


def open_release(
    spec: str,
    *,
    wheels: Path | None = None,
    folder: Path = FOLDER,
    say: Callable[[str], None] = lambda text: None,
) -> Tree:
    """`flashinfer==0.6.12`, `triton_kernels@sglang-kernel==0.4.5`, a wheel, or an unpacked folder.

    `wheels`: look there alone, without a network. What is fetched is kept, unpacked, under `folder`. Raises ValueError.
    """
    path = Path(spec).expanduser()
    if path.suffix == ".whl" or path.exists():
        return open_tree(path)
    name, shown, requirement = read_word(spec, False)
    try:
        if name == COMPONENT:
            return open_tree(_component(component_version(requirement) or "", wheels, folder, say))
        return _fetched(requirement, shown, wheels, folder, say)
    except BuildError as error:
        raise ValueError(f"{shown} cannot be had: {error}") from error


def _component(version: str, wheels: Path | None, folder: Path, say: Callable[[str], None]) -> Path:
    kept = folder.parent / "wheels"
    return component.find(version, kept if wheels is None else wheels, wheels, Path(sys.executable), say)


def _fetched(
    requirement: str, shown: str, wheels: Path | None, folder: Path, say: Callable[[str], None]
) -> Tree:
    from packaging.requirements import Requirement

    read = Requirement(requirement)
    version = exact(read)
    stem = read.name.replace("-", "_")
    if wheels is not None:
        found = sorted(wheels.glob(f"{stem}-{version}-*.whl"))
        if not found:
            raise ValueError(f"the folder of wheels has no {stem}-{version}-*.whl")
        return open_tree(found[0])
    place = folder.absolute() / f"{stem}-{version}"
    with alone(folder.absolute(), place.name, say):
        if not place.is_dir():
            say(f"fetching {shown} to read it")
            _unpack(f"{read.name}=={version}", place)
    return open_tree(place)


def _unpack(requirement: str, place: Path) -> None:
    """Whole or not at all. Wheels only: a source distribution would have to be executed."""
    half = place.with_name(f".{place.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    try:
        install(
            Path(sys.executable),
            [requirement],
            None,
            "--no-deps",
            "--only-binary",
            ":all:",
            "--target",
            str(half),
        )
        half.rename(place)
    finally:
        shutil.rmtree(half, ignore_errors=True)
