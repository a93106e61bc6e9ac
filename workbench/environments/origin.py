"""Which wheel files an environment was made from, to notice when another takes the place of one."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .spec import Environment, wheel_paths


def wheels_of(found: dict[str, Any], environment: Environment, wheels: Path | None) -> dict[str, str]:
    """File name -> hash, of local wheels and of those that fit in the folder `wheels`."""
    files = wheel_paths(environment)
    for each in found["distributions"]:
        if each["own"] and wheels:
            files += wheels.glob(f"{each['name'].replace('-', '_')}-{each['version']}-*.whl")
    return _hashes(files)


def replaced(then: dict[str, str], environment: Environment, wheels: Path | None) -> bool:
    """Whether a wheel of the same name holds something else now; one that has gone does not count."""
    places = wheel_paths(environment) + [wheels / name for name in then if wheels]
    now = _hashes(place for place in places if place.name in then)
    return any(then[name] != digest for name, digest in now.items())


def _hashes(files: Iterable[Path]) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()}
