"""Compile-only trials of FlashInfer's own modules: built for the given SM by nvcc, and read, never loaded.

What a module has is told whole: which of its kernels a case would launch is decided on the GPU.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench import cuobjdump, prebuilding
from workbench.environments import BuildError, Built
from workbench.options import Options
from workbench.planning import Planned
from workbench.prebuilding import Recipe, Toolkit, Without, packing
from workbench.prebuilding.headers import Headers
from workbench.progress import Progress
from workbench.worker import cubins
from workbench.worker.builds import LARGE_SOURCES
from workbench.workers import Told

FOLDER = "compiled"  # beside the environments: objects are kept, so that a version is compiled once


def is_one(planned: Planned) -> bool:
    """Whether the trial's kernel is one of FlashInfer's, which nvcc compiles."""
    return planned.device == "given" and planned.kernel.module.API.startswith("flashinfer.")


def compile_only(planned: Planned, built: Built, options: Options, progress: Progress) -> Told:
    """As a worker would tell it. Never raises for what the compiler says.

    Raises NotMade where this machine could not build it now.
    """
    told, began = Told(stage="build", began=True), time.monotonic()
    try:
        told.facts["forensic"] = {"compiled": _facts(planned, built, options, progress)}
        told.stage, told.end = "done", "done"
    except (BuildError, ValueError) as problem:  # a tool is not here, or the environment has no answer
        told.end, told.facts["stopped"] = "stopped", {"reason": "not_run", "message": str(problem)}
    except _Short as problem:
        told.stage, told.end = problem.case.stage, "stopped" if problem.case.stopped else "exception"
        told.facts[told.end] = problem.case.stopped or problem.case.exception
    except _Failed as problem:
        told.end = "exception"
        told.facts["exception"] = {"type": "CompileError", "message": str(problem), "missing": None}
    told.stages["build"] = round(time.monotonic() - began, 4)
    return told


class NotMade(Exception):
    """No fault of the sources: a tool is not there, headers cannot be had, or somebody has ended the build."""


class _Failed(Exception):
    """The compiler's first error."""


class _Short(Exception):
    """The call ended before it came to a module."""

    def __init__(self, case: Without) -> None:
        super().__init__(case.why)
        self.case = case


def _facts(planned: Planned, built: Built, options: Options, progress: Progress) -> dict[str, Any]:
    toolkit, arch = prebuilding.find(), f"{planned.sm}a"
    folder = (options.environments_folder / FOLDER).absolute()
    kernel = replace(planned.kernel, cases=(planned.trial.case,))
    asked = prebuilding.ask(built, kernel, arch, toolkit.home, folder)
    if asked.without:
        raise _Short(asked.without[0])
    kernels = []
    for recipe in asked.recipes:
        packed = _make(recipe, built, toolkit, arch, options, progress)
        kernels += _read(recipe, packed)
    names = [recipe.name for recipe in asked.recipes]
    return {"sm": planned.sm, "nvcc": toolkit.version, "modules": names, "kernels": kernels, "faked": []}


def _make(
    recipe: Recipe, built: Built, toolkit: Toolkit, arch: str, options: Options, progress: Progress
) -> Path:
    """The packed module; its library may have been made before."""
    folder = (options.environments_folder / FOLDER).absolute()
    packed = packing.place_of(built, folder / "packed", arch, recipe.name)
    whole = packing.whole(recipe.library, packed)
    if options.no_build:
        if not whole:
            raise ValueError(
                f"{recipe.name} was not compiled here before, and --no-build compiles nothing: leave it out"
            )
        return packed
    if len(recipe.objects) > LARGE_SOURCES and not options.build:
        raise ValueError(f"{recipe.name} has {len(recipe.objects)} sources: start such a build with --build")
    if not whole:  # as where a run was killed while it linked
        packing.note_of(packed).unlink(missing_ok=True)
    made = prebuilding.make(
        recipe, built, toolkit, Headers(folder, toolkit, built.python, options.wheels, progress.say),
        arch=arch, trim=prebuilding.Trim(), output=folder / "packed", at_once=prebuilding.jobs(None),
        told=lambda count, of: progress.building(recipe.name, count, of),
    )  # fmt: skip
    if made.state == "failed":
        raise _Failed(made.why)
    if made.state == "not made":
        raise NotMade(made.why)
    return packed


def _read(recipe: Recipe, packed: Path) -> list[dict[str, Any]]:
    try:
        found = cubins.read(str(recipe.library), cuobjdump.find())
    except (OSError, RuntimeError) as problem:
        raise ValueError(f"compiled, and cannot be read: {problem}; {cuobjdump.INSTALL}") from problem
    if not packing.whole(recipe.library, packed):
        raise ValueError(f"{recipe.name} was made anew by another run as it was read")
    return found
