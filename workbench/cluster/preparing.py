"""Environments, and the modules that their kernels compile, made once for a GPU family by a job without a GPU.

The rule: what cannot be made here is told, and is an outcome of the trials later; it ends nothing.
"""

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path

from workbench import environments, prebuilding, prebuilt
from workbench.commands import prebuild
from workbench.commands import run as command
from workbench.environments import Built, Environment
from workbench.worker.builds import LARGE_SOURCES

from .blocks import Block

MODULES = environments.FOLDER / "prebuilt"


def prepare(blocks: list[Block]) -> None:
    """All that the blocks of one family need, on the disk that its nodes share."""
    for block in blocks:
        options = options_of(block)
        for environment in command._environments(options):
            with _told(environment.name):
                _prepare(block, options, environment)


def options_of(block: Block) -> argparse.Namespace:
    """The options of `workbench run`, with the defaults of this version for what the block does not say."""
    return argparse.Namespace(**{**command.defaults_of_run(), **block.options})


def modules_of(options: argparse.Namespace) -> str | None:
    """The folder of modules built ahead: the plan's own, else what was prepared here."""
    return options.prebuilt or (str(MODULES) if MODULES.is_dir() else None)


def _prepare(block: Block, options: argparse.Namespace, environment: Environment) -> None:
    wheels = Path(options.wheels) if options.wheels else None
    built = environments.build(environment, wheels=wheels, progress=_say)
    version = built.packages.get("flashinfer-python")
    if not (version and block.arch):
        return
    if not (options.prebuilt or options.no_build):
        _compile(block, options, built)
    if folder := modules_of(options):  # unpacked once, and not by each node
        prebuilt.modules(Path(folder), version, block.arch.rstrip("af"), environments.FOLDER / "modules")


def _compile(block: Block, options: argparse.Namespace, built: Built) -> None:
    """The modules that FlashInfer would compile on the node; those of hours only where --build asks for them."""
    most = None if options.build else LARGE_SOURCES
    words = ("--environment", built.environment.name, "--arch", block.arch, "--output", str(MODULES))
    asked, toolkit = prebuild.parsed(*words), prebuilding.find()
    asked.wheels = options.wheels
    for kernel in command._kernels(options):
        if not kernel.on_cpu:
            with _told(f"{kernel.name} in {built.environment.name}"):
                for made in prebuild.made(built, kernel, toolkit, asked, most):
                    _say(prebuild.line(made))


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (environments.BuildError, ValueError, OSError) as problem:
        _say(f"{what}: {problem}")


def _say(text: str) -> None:
    print(text, flush=True)
