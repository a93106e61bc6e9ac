"""A plan: which kernels, cases, modes and environments make which trials. Pure but for reading kernel files."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench import kernels
from workbench.environments import Environment
from workbench.gpus import Gpu
from workbench.results import Trial

MODES = ("eager", "graph")


@dataclass(frozen=True)
class Kernel:
    """A kernel as a plan needs it: its file, its cases, and a hash by which its results are known."""

    name: str
    module: ModuleType
    file: Path
    cases: tuple[dict[str, Any], ...]
    hash: str

    @property
    def on_cpu(self) -> bool:
        return "cpu" in getattr(self.module, "DEVICES", ("cuda",))


@dataclass(frozen=True)
class Planned:
    """One trial, and what it takes to run it. `device` is "cuda", "cpu", or None where only a look is possible."""

    trial: Trial
    kernel: Kernel
    environment: Environment
    device: str | None


def plan(
    chosen: Iterable[Kernel], environments: Sequence[Environment], modes: Sequence[str], gpu: Gpu | None
) -> list[Planned]:
    """All trials, those of one environment together, so that its worker stays warm."""
    chosen = list(chosen)
    return [
        Planned(_trial(kernel, case, mode, environment, gpu), kernel, environment, _device(kernel, gpu))
        for environment in environments
        for kernel in chosen
        for case in kernel.cases
        for mode in _modes(kernel, modes)
    ]


def _modes(kernel: Kernel, modes: Sequence[str]) -> Sequence[str]:
    return [mode for mode in modes if mode == "eager"] if kernel.on_cpu else modes


def _device(kernel: Kernel, gpu: Gpu | None) -> str | None:
    return "cpu" if kernel.on_cpu else ("cuda" if gpu else None)


def _trial(
    kernel: Kernel, case: dict[str, Any], mode: str, environment: Environment, gpu: Gpu | None
) -> Trial:
    device = "cpu" if kernel.on_cpu else (gpu.name if gpu else "none")
    return Trial(kernel.name, case, mode, environment.name, device)


def built_in(name: str, cases: Sequence[dict[str, Any]] | None = None) -> Kernel:
    """A kernel of the workbench by name. Raises ValueError that lists the names there are."""
    if name not in kernels.names():
        raise ValueError(f"no kernel {name!r}; there are {', '.join(kernels.names())}")
    return _kernel(name, kernels.get(name), cases)


def from_file(path: str | Path, cases: Sequence[dict[str, Any]] | None = None) -> Kernel:
    """A user's own kernel file. Raises ValueError that says what the contract misses."""
    path = Path(path).resolve()
    if not path.is_file():
        raise ValueError(f"no kernel file {path}")
    try:
        module = kernels.load_file(path)
    except BaseException as problem:  # a user's file may do anything while it is read
        raise ValueError(f"{path.name} cannot be read: {type(problem).__name__}: {problem}") from problem
    return _kernel(path.stem, module, cases)


def _kernel(name: str, module: ModuleType, cases: Sequence[dict[str, Any]] | None) -> Kernel:
    needed = ("API", "CASES", "inputs", "prepare", "reference", "cost", "TOLERANCE")
    missing = [each for each in needed if not hasattr(module, each)]
    if missing:
        raise ValueError(f"kernel {name} lacks {', '.join(missing)}; CONTRIBUTING.md shows a whole one")
    file = Path(str(module.__file__))
    return Kernel(name, module, file, tuple(_plain(cases or module.CASES, name)), _hash(file))


def _plain(cases: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The cases as JSON gives them back, so that a stored trial equals a planned one."""
    try:
        plain = json.loads(json.dumps(list(cases), allow_nan=False))
    except (TypeError, ValueError) as problem:
        raise ValueError(f"the cases of {name} are not plain JSON: {problem}") from problem
    if not all(isinstance(case, dict) for case in plain):
        raise ValueError(f'the cases of {name} must be a list of objects, such as [{{"tokens": 16}}]')
    return plain


def _hash(file: Path) -> str:
    """Of the kernel's file and the shared files beside it, whose change would change the trial."""
    found = hashlib.sha256(file.read_bytes())
    for shared in sorted(file.parent.glob("_[!_]*.py")):
        found.update(shared.read_bytes())
    return found.hexdigest()[:12]


def read_cases(file: str | Path) -> list[dict[str, Any]]:
    """A user's own shapes from a JSON file: a list of objects. Raises ValueError."""
    try:
        found = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as problem:
        raise ValueError(f"{file}: {problem.strerror}") from problem
    except ValueError as problem:
        raise ValueError(f"{file} is not JSON: {problem}") from problem
    if not isinstance(found, list) or not found:
        raise ValueError(f'{file} must hold a list of cases, such as [{{"tokens": 16, "hidden": 2880}}]')
    return found
