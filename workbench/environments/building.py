"""Builds an environment: once, whole or not at all, and by one process at a time."""

import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import dependencies, index, stacks
from .alone import alone
from .filling import fill, unfinished
from .holding import held
from .inheritance import TIED
from .installer import BuildError
from .lock import Built, describe, probe
from .origin import replaced, wheels_of
from .pins import Sources
from .spec import Environment

FOLDER = Path(".environments")
MARKER = "complete.json"

Say = Callable[[str], None]


def build(
    environment: Environment,
    *,
    folder: Path = FOLDER,
    wheels: Path | None = None,
    inherit: str = sys.executable,
    progress: Say | None = None,
) -> Built:
    """The environment, ready to start; built under `folder` unless it is there already, whole and unchanged.

    `wheels`: a folder to install from, without a network. `inherit`: the interpreter whose torch is used,
    unless the environment names its own. A stack's pins are read from there, or the index, first. Raises BuildError;
    OSError where this machine has no room, or no right, to build anything.
    """
    begun = time.monotonic()
    say = progress or (lambda text: None)
    folder, wheels = folder.absolute(), wheels and wheels.absolute()
    if wheels and not wheels.is_dir():
        raise BuildError(f"there is no folder of wheels {wheels.name!r}")
    host_python = Path(environment.python or inherit).absolute()
    host = probe(host_python, own=False)
    try:
        if not environment.requirements:
            bare = describe(environment, host, host_python, folder / "caches", time.monotonic() - begun)
            return _prepared(bare)
        sources = Sources(folder, wheels, host_python, host["python"], host["every"], say)
        expanded = stacks.expand(environment, sources)
        asked = expanded.environment
        place = folder / _place(asked, host)
        with alone(folder, place.name, say):
            found = _reusable(place, asked, wheels, host, say)
            if found is None:
                found = _build(place, asked, wheels, host_python, host, say)
            python = place / "python" / "bin" / "python"
            built = describe(environment, found, python, place / "caches", time.monotonic() - begun)
            pins = held(expanded.pins, built.packages, built.inherited)
            return _prepared(replace(built, stack=expanded.stack, pins=pins, lacks=_lacks(found)))
    except OSError as error:  # this machine's trouble, and no outcome of the environment
        why = f"the folder for environments cannot be used: {error.strerror or type(error).__name__}"
        raise OSError(error.errno, why, str(folder)) from error


def _prepared(built: Built) -> Built:
    for name, value in built.variables.items():
        if name != "PATH":
            Path(value).mkdir(parents=True, exist_ok=True)
    return built


def _place(environment: Environment, host: dict[str, Any]) -> str:
    """A folder name that can be read, and told apart by what is asked for and what it is inherited from."""
    words = re.sub(r"[^A-Za-z0-9._]+", "-", environment.name.replace(" + ", "+")).strip("-.")[:60]
    tied = [host["every"].get(name) for name in TIED]  # decides what is hidden
    asked = json.dumps([environment.requirements, host["prefix"], host["release"], host["folders"], tied])
    return f"{words}-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


def _reusable(
    place: Path, environment: Environment, wheels: Path | None, host: dict[str, Any], say: Say
) -> dict[str, Any] | None:
    """What the probe finds in the environment as it stands, None if it must be built (again)."""
    if not place.exists():
        return None
    try:
        marker = json.loads((place / MARKER).read_text(encoding="utf-8"))
        found = probe(place / "python" / "bin" / "python", own=True)
        same = marker["files"] == _files(found) and not replaced(marker["wheels"], environment, wheels)
        if same and not (wheels and unfinished(found, environment, wheels, host)):
            return found
    except (OSError, ValueError, KeyError, TypeError, LookupError, BuildError):
        pass
    say(f"{environment.name} is incomplete or was changed: building it again")
    return None


def _build(
    place: Path,
    environment: Environment,
    wheels: Path | None,
    host_python: Path,
    host: dict[str, Any],
    say: Say,
) -> dict[str, Any]:
    for left in place.parent.glob(f".{place.name}.half-*"):  # of a run that was killed: we hold the lock
        shutil.rmtree(left, ignore_errors=True)
    half = place.parent / f".{place.name}.half-{os.getpid()}"
    half.mkdir()
    try:
        say(f"building {environment.name}")
        options = index.until(environment.as_of)
        found = fill(half / "python", environment, wheels, host_python, host, say, *options)
        if edited := _edited(found):
            # uv links files from its cache, so an edit in an environment reaches the cache: take them afresh.
            say(f"uv's cache has a changed {edited}: installing without it")
            shutil.rmtree(half / "python")
            found = fill(half / "python", environment, wheels, host_python, host, say, "--no-cache", *options)
        if lacks := _lacks(found):
            say(f"{environment.name} lacks {dependencies.without(lacks, wheels)}")
        marker = {"files": _files(found), "wheels": wheels_of(found, environment, wheels)}
        (half / MARKER).write_text(json.dumps(marker), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        half.replace(place)
        return {**found, "site": str(place / Path(found["site"]).relative_to(half))}
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _lacks(found: dict[str, Any]) -> dict[str, str]:
    return dependencies.lacks(Path(found["site"]), found["every"], found["python"])


def _files(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["files"] for each in found["distributions"] if each["own"]}


def _edited(found: dict[str, Any]) -> str:
    return next((file for each in found["distributions"] if each["own"] for file in each["edited"]), "")
