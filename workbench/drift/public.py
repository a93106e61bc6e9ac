"""The functions that a release shows to others, each by its shortest name."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from .definitions import Definition, Library
from .syntax import Module
from .values import LocalClass

INSIDE = {"data", "tests", "test", "experimental", "conftest", "trace"}
LARGEST = 700_000  # bytes of text; beyond are generated tables


@dataclass(frozen=True)
class Public:
    """A function or method: `name` is the shortest way to it, `paths` all of them."""

    name: str
    definition: Definition
    paths: tuple[str, ...]


def publics(library: Library, only: Collection[str] = ()) -> dict[str, Public]:
    """By where it is defined. Looks at the package, its direct modules, and wherever their names come from.

    `only`: bare names of what is wanted; modules that do not contain one of these words are not parsed.
    """
    paths: dict[str, set[str]] = {}
    defined: dict[str, Definition] = {}
    for name in _modules(library):
        module = library.world.find(name) if _mentions(library, name, only) else None
        if module and not module.broken:
            _collect(library, module, name, paths, defined, only)
    homes = {each.value.module for each in defined.values()}
    for name in sorted(homes - set(_modules(library))):
        module = library.world.find(name)
        if module and not _private(name):
            _collect(library, module, name, paths, defined, only)
    return {
        dotted: Public(
            min(paths[dotted], key=lambda path: (path.count("."), len(path), path)),
            each,
            tuple(sorted(paths[dotted])),
        )
        for dotted, each in defined.items()
    }


def methods(cls: LocalClass, aliases: bool = False) -> list[str]:
    """Its public methods, as written in the class itself; with `aliases` also `begin_forward = plan`."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    other = [
        target.id
        for node in cls.node.body
        if aliases and isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    return other + [
        node.name
        for node in cls.node.body
        if isinstance(node, functions) and (not node.name.startswith("_") or node.name == "__call__")
        and not any("property" in ast.unparse(each) or "setter" in ast.unparse(each) for each in node.decorator_list)
    ]  # fmt: skip


def _modules(library: Library) -> list[str]:
    small = [
        name for name, file in library.world.files.items()
        if library.tree.files[file] <= LARGEST and name.count(".") <= 1 and library.has(name) and not _private(name)
    ]  # fmt: skip
    return sorted(small)


def _mentions(library: Library, name: str, only: Collection[str]) -> bool:
    text = library.tree.read(library.world.files[name]) if only else ""
    return not only or "import *" in text or any(word in text for word in only)


def _private(name: str) -> bool:
    parts = name.split(".")
    hidden = any(part.startswith("_") or part in INSIDE for part in parts[1:])
    return hidden or parts[0].startswith("_")


def _collect(
    library: Library,
    module: Module,
    name: str,
    paths: dict[str, set[str]],
    defined: dict[str, Definition],
    only: Collection[str],
) -> None:
    for each, bindings in module.top.bindings.items():
        if only and each not in only:
            continue
        hows = {binding.how for binding in bindings}
        foreign = all(binding.how == "import" and not library.has(binding.dotted) for binding in bindings)
        if each.startswith("_") or foreign or not hows & {"def", "class", "import", "value"}:
            continue
        for one in _definitions(library, f"{name}.{each}"):
            if not one.value.qualname.startswith("_"):
                defined.setdefault(one.dotted, one)
                paths.setdefault(one.dotted, set()).add(f"{name}.{each}")
    for star in module.stars:
        other = library.world.find(star.dotted)
        for each in other.top.bindings if other else ():
            if each.startswith("_") or (only and each not in only):
                continue
            for one in _definitions(library, f"{name}.{each}"):
                defined.setdefault(one.dotted, one)
                paths.setdefault(one.dotted, set()).add(f"{name}.{each}")


def _definitions(library: Library, dotted: str) -> tuple[Definition, ...]:
    found = library.find(dotted)
    return found if isinstance(found, tuple) else ()
