"""What is to be compiled: asked from the library itself, which writes a ninja file for each module."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.environments import Built
from workbench.environments.asking import ask as ask_interpreter
from workbench.planning import Kernel

START = Path(__file__).parents[1] / "worker" / "start.py"
LIMIT_S = 600
WORDS = 300
BUILD = re.compile(r"^build (\S+): (\w+) (.*)$", re.MULTILINE)
FLAGS = re.compile(r"^(cuda_cflags|cflags|ldflags) =((?:[^\n]*\$\n)*[^\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Recipe:
    """A module as the library would make it. `objects` are object file -> source, in the order they are linked."""

    name: str
    ninja: Path
    objects: dict[str, Path]

    @property
    def library(self) -> Path:
        return self.ninja.with_name(f"{self.name}.so")

    def flags(self) -> dict[str, list[str]]:
        """The compiler's and the linker's, without the places of headers and libraries on this machine."""
        found = FLAGS.findall(self.ninja.read_text(encoding="utf-8"))
        cut = {name: re.sub(r"-(I|isystem|L)\s*\S+", "", text.replace("$\n", " ")) for name, text in found}
        return {name: text.split() for name, text in cut.items()}

    def sources_hash(self) -> str:
        """Of the sources' contents, by name; headers are the version's."""
        found = hashlib.sha256()
        for source in sorted(self.objects.values(), key=lambda each: each.name):
            found.update(source.name.encode() + b"\0" + hashlib.sha256(source.read_bytes()).digest())
        return found.hexdigest()


@dataclass(frozen=True)
class Without:
    """A case that met no module: the stage it came to, and what ended it there, as a worker tells it."""

    case: dict[str, Any]
    stage: str
    stopped: dict[str, str] | None = None
    exception: dict[str, Any] | None = None

    @property
    def why(self) -> str:
        if self.stopped:
            return self.stopped["message"][:WORDS]
        raised = self.exception or {}
        return f"{raised.get('type')}: {raised.get('message')}"[:WORDS]


@dataclass(frozen=True)
class Asked:
    """The modules that a kernel's cases need, and the cases that need none."""

    recipes: list[Recipe]
    without: list[Without]


def ask(
    built: Built, kernel: Kernel, arch: str, cuda_home: Path, workspace: Path, tuner: bool = False
) -> Asked:
    """Makes the calls for `arch` ("9.0a") in the environment, with a GPU that is not there; `tuner`: as if tuned.

    Raises BuildError.
    """
    cases: Sequence[dict[str, Any]] = kernel.cases
    request = {
        "kernel_file": os.fspath(kernel.file), "cases": cases, "sm": arch.rstrip("af"), "tuner": tuner
    }  # fmt: skip
    said = {
        "FLASHINFER_CUDA_ARCH_LIST": arch, "FLASHINFER_WORKSPACE_BASE": os.fspath(workspace),
        "CUDA_HOME": os.fspath(cuda_home), "FLASHINFER_NO_DOWNLOAD": "1",
    }  # fmt: skip
    variables = {**built.variables, **said}
    answer = ask_interpreter(
        built.python, START, "modules", json.dumps(request), limit_s=LIMIT_S, variables=variables,
        who=f"{built.environment.name}, asked for the modules of {kernel.name},",
    )  # fmt: skip
    recipes = [read(each["name"], Path(each["ninja"])) for each in answer["modules"]]
    return Asked(recipes, [Without(**each) for each in answer["without"]])


def read(name: str, ninja: Path) -> Recipe:
    """The recipe in a ninja file of the library's. Raises OSError, ValueError where it has no objects."""
    steps = BUILD.findall(ninja.read_text(encoding="utf-8"))
    objects = {made: Path(source) for made, rule, source in steps if rule.endswith("compile")}
    if not objects:
        raise ValueError(f"the ninja file of {name} names no objects")
    return Recipe(name, ninja, objects)
