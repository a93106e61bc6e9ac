"""The steps of a build: an empty venv, what was asked for, the small ones beside it, what is inherited."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import component, dependencies, inheritance
from .installer import BuildError, install, make_venv
from .lock import probe
from .requirement import component_version, distribution_of
from .spec import Environment

ROUNDS = 8  # requirements of requirements of ...; two are usual


def fill(
    venv: Path,
    environment: Environment,
    wheels: Path | None,
    host_python: Path,
    host: dict[str, Any],
    say: Callable[[str], None],
    *options: str,
) -> dict[str, Any]:
    """Makes the virtual environment `venv`; what the probe then finds in it. Raises BuildError."""
    python = make_venv(venv, host_python)
    site = next(venv.glob("lib/python*/site-packages"))
    asked = []
    for requirement in environment.requirements:
        version = component_version(requirement)
        kept = venv.parent.parent / "wheels"
        asked.append(str(component.find(version, kept, wheels, host_python, say)) if version else requirement)
    light = [each for each in asked if not _whole(each)]
    if light:
        install(python, light, wheels, "--no-deps", *options)
    if whole := [each for each in asked if _whole(each)]:
        say(f"installing {', '.join(whole)} with all that it requires")
        install(python, whole, wheels, *options)
    _beside(python, site, environment, wheels, host, *options)
    own = {name: each.version for name, each in dependencies.installed(site).items()}
    inheritance.link(site, host["folders"], inheritance.mismatched(own, host["every"]))
    return probe(python, own=True, verify=True)


def unfinished(
    found: dict[str, Any], environment: Environment, wheels: Path | None, host: dict[str, Any]
) -> list[str]:
    """The small packages that a built environment could have now and has not."""
    return dependencies.missing(
        Path(found["site"]), host["every"], _names(environment), wheels, host["python"]
    )


def _beside(
    python: Path,
    site: Path,
    environment: Environment,
    wheels: Path | None,
    host: dict[str, Any],
    *options: str,
) -> None:
    asked = _names(environment)
    try:
        for _ in range(ROUNDS):
            wanted = dependencies.missing(site, host["every"], asked, wheels, host["python"])
            if not wanted:
                return
            install(python, wanted, wheels, "--no-deps", *options)
    except LookupError as error:
        raise BuildError(str(error.args[0])) from error


def _whole(requirement: str) -> bool:
    """Asked for by name though heavy (another torch): then with its own libraries, not the inherited ones."""
    return distribution_of(requirement) in dependencies.HEAVY


def _names(environment: Environment) -> set[str]:
    return {distribution_of(each) for each in environment.requirements}
