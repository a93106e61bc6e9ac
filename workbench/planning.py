"""A plan: which kernels, cases, modes and environments make which trials. Pure but for reading kernel files."""

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench import kernels
from workbench.ends import Size
from workbench.environments import Environment
from workbench.gpus import AMOUNTS, UNITS, Gpu
from workbench.reading import read
from workbench.results import MODES as MODES
from workbench.results import Trial, check_modes
from workbench.strict_json import read_json

MOST_CASES, LONGEST_CASE = 10_000, 10_000  # characters of its JSON; it goes through a pipe in one piece
MOST_RANKS = 64
READ_LIMIT_S, WAS_READ = 30, 77
COMMENT = re.compile(r"#.*")
RELATIVE_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*from[ \t]*\.[ \t]*(\w*)[ \t]+import\b[ \t]*(\((?:#.*\n|[^)#])*\)|(?:\\\n|[^\n;])*)",
    re.MULTILINE,
)
READ = """
import contextlib, itertools, json, os, sys
with contextlib.suppress(Exception):
    from workbench import kernels
    module = kernels.load_file(sys.argv[1])
    for case in json.load(sys.stdin) or itertools.islice(module.CASES, 10_000):
        module.cost(**case)
os._exit(77)
"""


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
    """One trial, and what it takes to run it.

    `device` is "cuda", "cpu", "given" for an SM that is compiled for, or None where only a look is possible.
    """

    trial: Trial
    kernel: Kernel
    environment: Environment
    device: str | None
    sm: str = ""

    @property
    def size(self) -> Size | None:
        """Of the team that runs it, where its case says that it takes several ranks."""
        case = self.trial.case
        return Size(case["ranks"], case.get("bystanders", 0)) if "ranks" in case else None

    @property
    def ranks(self) -> int:
        """How many take part, each on a GPU of its own."""
        return self.size.ranks if self.size else 1


def plan(
    chosen: Iterable[Kernel],
    environments: Sequence[Environment],
    modes: Sequence[str],
    gpu: Gpu | None,
    cpu: str = "cpu",
) -> list[Planned]:
    """All trials, each once, those of one environment together, so that its worker stays warm.

    A kernel that runs on the CPU has the mode eager alone, and no trial in others; `cpu` is what its trials name as
    their device. Raises ValueError for a mode that there is not, and for two kernels of one name.
    """
    check_modes(modes)
    chosen, on_gpu = list(chosen), gpu.name if gpu else "none"
    _check_names(chosen)
    every = (
        Planned(
            Trial(kernel.name, case, mode, environment.name, cpu if kernel.on_cpu else on_gpu),
            kernel,
            environment,
            _device(kernel, gpu),
            gpu.sm if gpu else "",
        )
        for environment in environments
        for kernel in chosen
        for case in kernel.cases
        for mode in _modes(kernel, modes)
    )
    return list({(each.trial, each.trial.case_text): each for each in every}.values())


def _check_names(chosen: Sequence[Kernel]) -> None:
    """A result names its kernel alone: of two with one name, the second would pass for a newer version of the first."""
    files = {each.name: each.file for each in chosen}
    for each in chosen:
        if each.file != files[each.name]:
            raise ValueError(
                f"two kernels are named {each.name}: {each.file} and {files[each.name]}; rename one, or run them apart"
            )


def _modes(kernel: Kernel, modes: Sequence[str]) -> Sequence[str]:
    return [mode for mode in modes if mode == "eager"] if kernel.on_cpu else modes


def _device(kernel: Kernel, gpu: Gpu | None) -> str | None:
    if kernel.on_cpu or gpu is None:
        return "cpu" if kernel.on_cpu else None
    return "cuda" if gpu.real else "given"


def built_in(name: str, cases: Sequence[dict[str, Any]] | None = None) -> Kernel:
    """A kernel of the workbench by name. Raises ValueError that lists the names there are."""
    if name not in kernels.names():
        raise ValueError(f"no kernel {name!r}; there are {', '.join(kernels.names())}")
    module = kernels.get(name)
    if cases:
        _let_another_read(Path(str(module.__file__)), _plain(cases, name))
    return _kernel(name, module, cases)


def from_file(path: str | Path, cases: Sequence[dict[str, Any]] | None = None) -> Kernel:
    """A user's own kernel file. Raises ValueError that says what the contract misses."""
    if not Path(path).is_file():  # before it is resolved: a link may lead to itself
        raise ValueError(f"no kernel file {path}")
    path = Path(path).resolve()
    _let_another_read(path, _plain(cases or (), path.stem))
    try:
        module = kernels.load_file(path)
    except BaseException as problem:  # a user's file may do anything while it is read
        raise ValueError(f"{path.name} cannot be read: {type(problem).__name__}: {problem}") from problem
    return _kernel(path.stem, module, cases)


def _let_another_read(path: Path, cases: Sequence[dict[str, Any]]) -> None:
    """A user's file may hang whoever reads it or computes its costs, or end him: not us, then.

    So may a case that a result line names, with a kernel of ours. An exception is left for us to meet and to tell.
    """
    quiet = subprocess.DEVNULL
    try:
        code = subprocess.run(
            [sys.executable, "-c", READ, path],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            input=json.dumps(cases).encode(), stdout=quiet, stderr=quiet, timeout=READ_LIMIT_S,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ValueError(
            f"{path.name} hangs who reads it or asks for the costs of its cases: {READ_LIMIT_S} s"
        ) from None
    if code != WAS_READ:
        raise ValueError(f"{path.name} ends the process that reads it (exit code {code})")


def _kernel(name: str, module: ModuleType, cases: Sequence[dict[str, Any]] | None) -> Kernel:
    needed = ("API", "CASES", "inputs", "prepare", "reference", "cost", "TOLERANCE")
    missing = [each for each in needed if not hasattr(module, each)]
    if missing:
        raise ValueError(f"kernel {name} lacks {', '.join(missing)}; CONTRIBUTING.md shows a whole one")
    devices = getattr(module, "DEVICES", ("cuda",))
    named = isinstance(devices, list | tuple) and all(isinstance(each, str) for each in devices)
    if not (named and isinstance(module.API, str)):
        raise ValueError(f"kernel {name}: API is a dotted name, DEVICES a tuple of names")
    if not _are_families(getattr(module, "SMS", (90,))):
        raise ValueError(f"kernel {name}: SMS is a tuple of GPU families such as (90,) or (100, 103)")
    if not _is_number(module.TOLERANCE):
        raise ValueError(f"kernel {name}: TOLERANCE is a number")
    file, plain = Path(str(module.__file__)), _plain(cases or module.CASES, name)
    for case in plain:
        _check_cost(module, case, name)
    return Kernel(name, module, file, tuple(plain), hash_of(file))


def _are_families(value: Any) -> bool:
    """Whole numbers of two or three digits, such as 90 for the compute capability 9.0."""
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(type(each) is int and 10 <= each < 1000 for each in value)
    )


def _check_cost(module: ModuleType, case: dict[str, Any], name: str) -> None:
    """Now, and not in the middle of a run."""
    _check_keys(module, case, name)
    try:
        cost = module.cost(**case)
    except Exception as problem:
        said = f"{type(problem).__name__}: {problem}"[:300]
        raise ValueError(f"kernel {name}: cost of {str(case)[:200]} raises {said}") from problem
    amounts = [cost.get(each, 0) for each in AMOUNTS] if isinstance(cost, Mapping) else [None]
    if not all(_is_number(amount) for amount in amounts):
        raise ValueError(
            f"kernel {name}: cost of {str(case)[:200]} is {str(cost)[:200]}, not bytes and flops"
        )
    if cost.get("unit", UNITS[0]) not in UNITS:
        raise ValueError(f"kernel {name}: cost has the unit {cost['unit']!r}; there are {', '.join(UNITS)}")


def _check_keys(module: ModuleType, case: dict[str, Any], name: str) -> None:
    """A case of the user's has the keys that the kernel takes, as its cost tells them."""
    try:
        taken = inspect.signature(module.cost).parameters.values()
    except (TypeError, ValueError):  # no function: it is called, and that is told
        return
    if any(each.kind == each.VAR_KEYWORD for each in taken):
        return
    known = [each.name for each in taken]
    lacks = [each.name for each in taken if each.default is each.empty and each.name not in case]
    wrong = [f"lacks {each!r}" for each in lacks] + [f"has {each!r}" for each in case if each not in known]
    if wrong:
        said = f"the case {str(case)[:200]} of {name} {' and '.join(wrong)}"
        raise ValueError(f"{said}; its keys are {', '.join(known)}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value < 1e30


def _plain(cases: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The cases as JSON gives them back, so that a stored trial equals a planned one."""
    try:
        some = list(islice(cases, MOST_CASES + 1))
        if len(some) > MOST_CASES:
            raise ValueError(f"more than {MOST_CASES}")
        plain = read_json(json.dumps(some, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ValueError(f"the cases of {name} are not plain JSON: {problem}") from problem
    if not all(isinstance(case, dict) for case in plain):
        raise ValueError(f'the cases of {name} must be a list of objects, such as [{{"tokens": 16}}]')
    for case in plain:
        _check_ranks(case, name)
    if any(len(json.dumps(case)) > LONGEST_CASE for case in plain):
        raise ValueError(f"a case of {name} is longer than {LONGEST_CASE} characters")
    return plain


def _check_ranks(case: Mapping[str, Any], name: str) -> None:
    for key, least in (("ranks", 1), ("bystanders", 0)):
        count = case.get(key, least)
        if not isinstance(count, int) or isinstance(count, bool) or not least <= count <= MOST_RANKS:
            raise ValueError(
                f"a case of {name} has {key} {count!r}: a whole number from {least} to {MOST_RANKS}"
            )


def hash_of(file: Path) -> str:
    """Of the files whose change would change the trial: the kernel's, and those beside it that it is made of."""
    found = hashlib.sha256()
    for each in (file, *sorted(made_of(file))):
        found.update(each.read_bytes())
    return found.hexdigest()[:12]


def made_of(file: Path) -> set[Path]:
    """The files beside it that it imports with `from .`, and those that they do."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        for module, members in RELATIVE_IMPORT.findall(waiting.pop().read_text("utf-8", "replace")):
            names = [module] if module else re.findall(r"\w+", COMMENT.sub("", members))
            new = {each for name in names if (each := file.parent / f"{name}.py").is_file()} - found - {file}
            found |= new
            waiting.extend(new)
    return found


def beside(file: Path) -> list[Path]:
    """What a kernel's file takes along to another folder: what it is made of, and all shared files."""
    return sorted({*made_of(file), *file.parent.glob("_[!_]*.py")})


Cases = Sequence[dict[str, Any]]
CASES_LOOK = (
    'a file of cases is a list, such as [{"tokens": 16, "hidden": 2880}], or one for each kernel, such as '
    '{"fp4_quantize": [...]}'
)


def read_cases(file: str | Path) -> Cases | dict[str, Cases]:
    """A user's own shapes from a JSON file: a list of objects, or one such list for each kernel by name.

    Raises ValueError.
    """
    try:
        found = read_json(read(file))
    except OSError as problem:
        raise ValueError(f"{file}: {problem.strerror}") from problem
    except ValueError as problem:
        raise ValueError(f"{file} is not JSON: {problem}; {CASES_LOOK}") from problem
    lists = list(found.values()) if isinstance(found, dict) else [found]
    if not lists or not all(isinstance(each, list) and each for each in lists):
        raise ValueError(f"{file} holds no list of cases; {CASES_LOOK}")
    return found


def check_named(cases: Cases | dict[str, Cases] | None, chosen: Sequence[str]) -> None:
    """Raises ValueError where the file has cases for a kernel that is not run: its name may be misspelt."""
    unknown = [name for name in cases if name not in chosen] if isinstance(cases, dict) else []
    if unknown:
        raise ValueError(f"there are cases for {unknown[0]!r}, which is not run; run are {', '.join(chosen)}")


def cases_of(cases: Cases | dict[str, Cases] | None, kernel: str) -> Cases | None:
    """The user's shapes for this kernel; None where they name none."""
    return cases.get(kernel) if isinstance(cases, dict) else cases
