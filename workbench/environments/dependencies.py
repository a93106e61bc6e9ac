"""Which packages go beside what was asked for: those it declares, less heavy ones, which are inherited."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from .installer import BuildError
from .metadata import requires

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from packaging.requirements import Requirement
    from packaging.tags import Tag
    from packaging.version import Version

MOST_NAMED = 3  # of the wheels that do not fit
HEAVY = {"torch", "torchvision", "torchaudio", "triton", "numpy", "nccl4py", "jax", "jaxlib", "tileiras"}
HEAVY_STARTS = ("nvidia-", "cuda-", "cupy-", "nccl-", "flashinfer-")
SMALL = {"nvidia-ml-py"}
CUDA_PYTHON = {"cuda-python", "cuda-bindings", "cuda-pathfinder"}
"""Small, though their names are those of heavy ones: nvidia-cutlass-dsl cannot be imported without them."""


def heavy(name: str) -> bool:
    """Inherited unless asked for by name: gigabytes, or only needed by kernels that say so themselves."""
    return name not in SMALL and (name in HEAVY or name.startswith(HEAVY_STARTS))


def part(name: str, owner: str, named: Collection[str]) -> bool:
    """Whether `owner`, or what it is itself a part of, is empty without `name`.

    So is nvidia-cutlass-dsl without its -libs-base, and that, since 4.6, without the -libs-core beside it.
    """
    return any(name.startswith(f"{each}-") and owner.startswith(each) for each in named)


def missing(site: Path, host: dict[str, str], asked: set[str], wheels: Path | None, python: str) -> list[str]:
    """Requirements that should be installed next into `site`, [] when nothing is missing any more.

    What was asked for gets its small requirements beside it; what those require in turn is taken from `host`
    (name -> version) where it fits. Offline, all that the folder of wheels lacks is. Raises LookupError.
    """
    from packaging.utils import canonicalize_name

    own = installed(site)
    wanted: dict[str, str] = {}
    lacking: list[str] = []
    for owner, distribution in own.items():
        for requirement in _declared(distribution.requires or [], python):
            name = canonicalize_name(requirement.name)
            needed = part(name, owner, own) or _of_cuda_python(owner, requirement, host)
            if name in own or (heavy(name) and not needed):
                continue
            if wheels and not in_folder(wheels, requirement, python):
                lacking += _lack(requirement, host.get(name), owner, wheels, python)
            elif owner in asked or not _fits(requirement, host.get(name)):
                wanted[name] = f"{requirement.name}{requirement.specifier}"
    if lacking:
        raise LookupError(
            f"neither the folder of wheels nor the inherited interpreter has what {'; '.join(lacking)}"
        )
    return [wanted[name] for name in sorted(wanted)]


def lacks(site: Path, there: Collection[str], python: str) -> dict[str, str]:
    """What the environment's own packages declare and `there` has in no version: by name, with who declares it.

    These are heavy ones that were neither inherited nor asked for; a call may never need them.
    """
    from packaging.utils import canonicalize_name

    declared = (
        (canonicalize_name(each.name), f"{each.name}{each.specifier} (declared by {owner})")
        for owner, distribution in installed(site).items()
        for each in _declared(distribution.requires or [], python)
    )
    return {name: said for name, said in declared if not {name, _there_as(name)}.intersection(there)}


def without(lacks: dict[str, str], wheels: Path | None) -> str:
    """In words: what is lacking, what follows, and what to do."""
    how = "name it in the environment too" + (" and put its wheel into the folder" if wheels else "")
    none = (
        "and the inherited interpreter has none; what imports it cannot run, or takes another kernel instead"
    )
    return f"{', '.join(lacks.values())}, {none}. If it is needed, {how}"


def _of_cuda_python(owner: str, requirement: "Requirement", host: dict[str, str]) -> bool:
    """Whether a package of NVIDIA's wants one of these that the host has not."""
    from packaging.utils import canonicalize_name

    name = canonicalize_name(requirement.name)
    there = host.get(_there_as(name))
    return name in CUDA_PYTHON and owner.startswith(("nvidia-", "cuda-")) and not _fits(requirement, there)


def _there_as(name: str) -> str:
    """The package that says whether it is there: cuda-python has no files of its own."""
    return "cuda-bindings" if name == "cuda-python" else name


def installed(site: Path) -> "dict[str, Distribution]":
    """The environment's own distributions by name."""
    from importlib.metadata import distributions

    from packaging.utils import canonicalize_name

    return {canonicalize_name(each.name): each for each in distributions(path=[str(site)])}


def in_folder(wheels: Path, requirement: "Requirement", python: str) -> bool:
    """Whether the folder has a wheel for `requirement` that Python `python` (3.12.3) can use here."""
    return bool(fitting(wheels, requirement, python))


def fitting(wheels: Path, requirement: "Requirement", python: str) -> list[Path]:
    """The folder's wheels for `requirement` that Python `python` (3.12.3) can use here, the newest last."""
    from packaging.tags import compatible_tags, cpython_tags, platform_tags

    release = tuple(int(part) for part in python.split(".")[:2])
    platforms = list(platform_tags())
    usable = {*cpython_tags(release, platforms=platforms), *compatible_tags(release, platforms=platforms)}
    return [
        file
        for version, tags, file in _named(wheels, requirement)
        if tags & usable and _fits(requirement, str(version))
    ]


def _named(wheels: Path, requirement: "Requirement") -> "list[tuple[Version, frozenset[Tag], Path]]":
    """The folder's wheels of that package, of whatever version and for whatever machine, the newest last."""
    from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

    found = []
    for file in wheels.glob("*.whl"):
        try:
            name, version, _, tags = parse_wheel_filename(file.name)
        except InvalidWheelFilename:
            continue
        if name == canonicalize_name(requirement.name):
            found.append((version, tags, file))
    return sorted(found, key=lambda each: (each[0], each[2]))


def declared_by(wheel: Path, python: str) -> "list[Requirement]":
    """What the wheel's metadata says that it requires under Python `python`. Raises BuildError."""
    return _declared(requires(wheel), python)


def _declared(lines: list[str], python: str) -> "list[Requirement]":
    target = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python, "extra": ""}
    read = map(_requirement, lines)
    return [each for each in read if each.marker is None or each.marker.evaluate(target)]


def _requirement(line: str) -> "Requirement":
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(line)
    except InvalidRequirement as error:
        raise BuildError(f"a package declares {line[:80]!r}, which is no requirement") from error


def _fits(requirement: "Requirement", version: str | None) -> bool:
    from packaging.version import InvalidVersion

    try:
        return version is not None and requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _lack(requirement: "Requirement", there: str | None, owner: str, wheels: Path, python: str) -> list[str]:
    if _fits(requirement, there):
        return []
    inherited = f" (inherited: {there})" if there else ""
    unfit = [file.name for _, _, file in _named(wheels, requirement)][-MOST_NAMED:]
    beside = f" (not of use to Python {python} here: {', '.join(unfit)})" if unfit else ""
    return [f"{owner} needs: {requirement.name}{requirement.specifier}{inherited}{beside}"]
