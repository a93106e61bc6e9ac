"""Which of a consumer's calls fit another version of the library: reads both, imports and runs neither."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .definitions import Library
from .evaluate import Evaluator
from .failing import Failing
from .forwarding import forwards, unwrapped
from .pause import no_collection
from .reads import Site, top_reads
from .sites import Reader
from .syntax import Module
from .tree import Tree
from .values import Arguments, Closure, Local, LocalClass, Made, Name
from .world import World

ROUNDS = 3  # a name may be handed on from file to file


def callsites(consumer: Tree, old: Library, new: Library) -> list[Site]:
    """All uses in all files, by file and line. `old` is what the consumer was written for."""
    with no_collection():
        return _callsites(World(consumer, aliases=True), old, new)


def _callsites(world: World, old: Library, new: Library) -> list[Site]:
    _look_into(world, old)
    names = [name for name, file in world.files.items() if file in (world.looked_into or ())]
    modules = list({module.file: module for name in sorted(names) if (module := world.find(name))}.values())
    whole = [module for module in modules if not module.broken]
    failing = Failing(world, new)
    plain = Evaluator(world, old.is_class)
    for module in whole:
        before = {why for _, why in top_reads(module, plain, old)}
        failing.extra[id(module)] = [each for each in top_reads(module, plain, new) if each[1] not in before]
    reader = Reader(Evaluator(world, old.is_class, failing.dead), old, new, failing)
    found = {site for module in whole for site in reader.sites(module)}
    found |= {
        Site(each.file, 1, "", "unknown", f"not read: {each.broken}") for each in modules if each.broken
    }
    return sorted(found, key=lambda each: (each.file, each.line, each.function, each.verdict))


def _look_into(world: World, library: Library) -> None:
    """Chooses files that mention the library, and files that take its functions from those."""
    texts = {file: world.tree.read(file) for file in set(world.files.values())}
    fresh = {file for file, text in texts.items() if _words(library.tops).search(text)}
    world.looked_into = set(fresh)
    for _ in range(ROUNDS):
        ev = Evaluator(world, library.is_class)
        names = {each for module in _of(world, fresh) for each in _handing_on(module, ev, library)}
        if not names:
            break
        pattern = _words(names)
        fresh = {
            file for file, text in texts.items() if file not in world.looked_into and pattern.search(text)
        }
        world.looked_into |= fresh


def _of(world: World, files: set[str]) -> list[Module]:
    return [module for name, file in world.files.items() if file in files and (module := world.find(name))]


def _words(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")


def _handing_on(module: Module, ev: Evaluator, library: Library) -> Iterable[str]:
    """Names of a module through which the library can be called."""
    for name, bindings in module.top.bindings.items():
        if name.startswith("__") or len(name) < 3:
            continue
        for binding in bindings:
            if any(_carries(value, library, ev) for value in ev.bound(binding)):
                yield name


def _carries(value: object, library: Library, ev: Evaluator) -> bool:
    value, _, _ = unwrapped(value, Arguments())
    if isinstance(value, Name):
        return library.has(value.dotted) and value.dotted not in library.tops
    if isinstance(value, Local):
        inner = [each for forward in forwards(ev, value) for each in forward.values]
        return any(
            isinstance(each, Name) and library.has(each.dotted) for each in (*inner, *ev.returned(value))
        )
    if isinstance(value, LocalClass):
        return any(isinstance(base, Name) and library.has(base.dotted) for base in ev.bases(value))
    if isinstance(value, Closure):
        return any(_carries(each, library, ev) for _, held in value.held for each in held)
    return isinstance(value, Made) and _carries(value.cls, library, ev)
