"""Makes one module: compiled as far as it is not yet, opened once, packed."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.environments import BuildError, Built
from workbench.environments.alone import alone
from workbench.files import write
from workbench.strict_json import object_in

from . import compiling, linking, packing
from .compiling import CompileError
from .headers import Headers
from .recipes import Recipe
from .toolkit import Toolkit
from .trimming import Trim

Told = Callable[[int, int], None]
# Of a note: what decides an object.
MADE_WITH = ("flashinfer", "apache-tvm-ffi", "arch", "nvcc", "flags", "sources")


@dataclass(frozen=True)
class Made:
    """What became of a module; `objects` of `of` are in it.

    `planned`, `made`, `there` already, `failed` in a compiler, or `not made`, for this machine lacks something: `why`.
    """

    module: str
    environment: str
    state: str
    objects: int
    of: int
    trimmed: str = ""
    file: str = ""
    packed_bytes: int = 0
    seconds: float = 0.0
    why: str = ""


def make(
    recipe: Recipe,
    built: Built,
    toolkit: Toolkit,
    headers: Headers,
    *,
    arch: str,
    trim: Trim,
    output: Path,
    at_once: int,
    told: Told,
) -> Made:
    """The module, packed in `output`. `told` hears how many objects there are of how many.

    One at a time: waits until nobody writes where it is compiled.
    """
    plan, file = planned(recipe, built, trim), packing.place_of(built, output, arch, recipe.name)
    note, total = _note(recipe, built, toolkit, arch, plan), plan.objects + 1
    with alone(recipe.ninja.parent, recipe.name, headers.say) as held:
        begun = time.monotonic()
        if packing.same(file, note):
            return replace(plan, state="there", file=str(file), packed_bytes=file.stat().st_size)
        _forget_others(recipe, note)
        try:
            ninja = linking.write(recipe, trim.kept(recipe.objects.values()), toolkit)
            recipe.library.unlink(missing_ok=True)  # ninja may think well of one whose linker was killed
            _compile(
                ninja, headers, built, at_once, lambda done, left: told(total - left + done, total), held
            )
            packing.check(recipe.library, built, toolkit)
        except (CompileError, BuildError) as problem:
            return _unmade(replace(plan, seconds=time.monotonic() - begun), recipe, problem)
        packing.pack(recipe.library, file, note)
    seconds = time.monotonic() - begun
    return replace(plan, state="made", file=str(file), packed_bytes=file.stat().st_size, seconds=seconds)


def _unmade(plan: Made, recipe: Recipe, problem: CompileError | BuildError) -> Made:
    """All that was said is kept beside the objects."""
    log = recipe.ninja.with_name("said.log")
    log.write_text(problem.log, encoding="utf-8")
    why = f"{problem} (all of it: {log})" if problem.log else str(problem)
    return replace(plan, state="failed" if isinstance(problem, CompileError) else "not made", why=why)


def _forget_others(recipe: Recipe, note: dict[str, Any]) -> None:
    """Objects of other sources, or of another compiler: ninja goes by dates, and those may be the newer ones."""
    file, known = recipe.ninja.with_name("made_with.json"), {name: note[name] for name in MADE_WITH}
    if object_in(file) not in ({}, known):
        for each in recipe.objects:
            (recipe.ninja.parent / each).unlink(missing_ok=True)
    write(file, json.dumps(known, indent=1))


def planned(recipe: Recipe, built: Built, trim: Trim) -> Made:
    """What would be made of it."""
    count, of = len(trim.kept(recipe.objects.values())), len(recipe.objects)
    trimmed = trim.mark if count < of else ""
    return Made(recipe.name, built.environment.name, "planned", count, of, trimmed)


def _compile(ninja: Path, headers: Headers, built: Built, at_once: int, told: Told, held: int) -> None:
    """Until nothing fails that a header from a wheel can mend."""
    places = built.variables["PATH"]
    if shutil.which("ninja", path=places) is None:
        raise BuildError("ninja is not there; install it beside the workbench: pip install ninja")
    while True:
        try:
            return compiling.run(ninja, at_once, {"PATH": places, **headers.variables()}, told, held)
        except CompileError as problem:
            if not headers.supply(problem.log):
                raise


def _note(recipe: Recipe, built: Built, toolkit: Toolkit, arch: str, plan: Made) -> dict[str, Any]:
    """How it is made; the same note means the same module."""
    versions = {**built.inherited, **built.packages}
    return {
        "trimmed": plan.trimmed,
        "module": recipe.name,
        "flashinfer": versions["flashinfer-python"],
        "apache-tvm-ffi": versions.get("apache-tvm-ffi", ""),
        "arch": arch,
        "nvcc": toolkit.version,
        "objects": plan.objects,
        "of": plan.of,
        "flags": recipe.flags(),
        "sources": recipe.sources_hash(),
    }
