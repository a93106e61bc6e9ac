"""What a plan needs on a node without a network: the workbench, its own needs, wheels, modules, the user's files."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.environments import Environment, Sources, carry, fetch_needs
from workbench.planning import beside

from .writing import Item

OURS = Path(__file__).parents[1]
NEEDS = (
    "uv",
    "packaging",
    "psutil",
    "tqdm",
    "nvidia-ml-py",
)  # what `workbench run` imports; torch is the node's
FILES = ("kernel_file", "cases", "stacks")  # options that name a file of the user's


def collect(
    plan: dict[str, Any],
    environments: Sequence[Environment],
    sources: Sources,
    prebuilt: Path | None,
    arch: str | None,
    folder: Path,
) -> tuple[list[Item], dict[str, Any]]:
    """All items, the most needed first, and the plan with its files named as they are in the bundle.

    Wheels are gathered in `folder`. Raises BuildError, ValueError, OSError.
    """
    wheels, needs = folder / "wheels", folder / "needs"
    wheels.mkdir(parents=True)
    fetch_needs(NEEDS, sources, needs)
    for environment in environments:
        carry(environment, sources, wheels)
    items = [Item("__main__.py", Path(__file__).with_name("start.py"), "start"), *_ours()]
    items += [Item(f"needs/{each.name}", each, "need of the workbench") for each in sorted(needs.iterdir())]
    items += [Item(f"wheels/{each.name}", each, "wheel") for each in sorted(wheels.iterdir())]
    items += _built_ahead(prebuilt, arch, wheels) if prebuilt else []
    own, changed = _users(plan)
    return items + own, changed


def _ours() -> Iterator[Item]:
    for file in sorted(OURS.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            yield Item(f"workbench/{file.relative_to(OURS).as_posix()}", file, "workbench")


def _built_ahead(prebuilt: Path, arch: str | None, wheels: Path) -> list[Item]:
    """At least one module; a node that was promised them would compile, or fail. Raises ValueError."""
    if items := list(_modules(prebuilt, arch, wheels)):
        return items
    wanted = f" and {arch}" if arch else ""
    raise ValueError(
        f"{prebuilt} has no module for these environments{wanted}; `workbench prebuild` makes them"
    )


def _modules(prebuilt: Path, arch: str | None, wheels: Path) -> Iterator[Item]:
    """Those for the FlashInfer versions that are carried, and their notes."""
    versions = {f"flashinfer-{each.name.split('-')[1]}" for each in wheels.glob("flashinfer_python-*.whl")}
    wanted = f"sm{arch.replace('.', '')}" if arch else None
    for file in sorted(prebuilt.rglob("*.so*")):
        parts = file.relative_to(prebuilt).parts
        hidden = any(part.startswith(".") for part in parts)
        if hidden or not versions & set(parts) or (wanted and wanted not in parts):
            continue
        note = file.with_name(f"{file.name.partition('.')[0]}.json")
        for each in (file, note) if note.is_file() else (file,):
            yield Item(f"prebuilt/{each.relative_to(prebuilt).as_posix()}", each, "module")


def _users(plan: dict[str, Any]) -> tuple[list[Item], dict[str, Any]]:
    """A kernel's file comes with those beside it that it may import."""
    items: dict[str, Item] = {}
    changed = {**plan, "environment": [_carried(spec) for spec in plan["environment"]]}
    for name in (each for each in FILES if each in plan):
        given = plan[name]
        named = given if isinstance(given, list) else [given] if given else []
        places = [_place(Path(each), items) for each in named]
        changed[name] = places if isinstance(given, list) else places[0] if places else None
    return list(items.values()), changed


def _carried(spec: str) -> str:
    """An environment whose wheels are named by path, as they lie in the bundle."""
    words = shlex.split(spec)
    return shlex.join(f"wheels/{Path(each).name}" if each.endswith(".whl") else each for each in words)


def _place(file: Path, items: dict[str, Item]) -> str:
    if not file.is_file():
        raise ValueError(f"the plan names {file}, which is not there")
    for each in (file, *(beside(file) if file.suffix == ".py" else ())):
        path = f"files/{each.name}"
        if items.setdefault(path, Item(path, each, "file of the plan")).source.resolve() != each.resolve():
            raise ValueError(
                f"the plan names two files called {each.name}; a bundle keeps them in one folder"
            )
    return f"files/{file.name}"
