"""Follows names from where an attempt begins: which pieces of which files it needs, and what each is called."""

import ast
import builtins
import copy
import graphlib
import keyword
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from workbench.repro.scopes import module_names
from workbench.repro.source import Name, Source, read

Methods = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class Following:
    """What is reached from `start`; `reached` has each name once.

    `instead`: a name that stands for another one. `given`: the statement that a name gets, in place of its own.
    `plain`: the files whose names stay as they are, first come, first served; those of others get their file's name
    in front. `unneeded`: functions left out where a file looks up its own names as it runs (`globals()`).
    `torch_on_top`: torch is imported once, on top, and not in the functions that use it.
    """

    start: Name
    instead: Mapping[Name, Name]
    given: Mapping[Name, str]
    plain: Sequence[Path]
    unneeded: frozenset[str] = frozenset()
    torch_on_top: bool = True
    sources: dict[Path, Source] = field(default_factory=dict)
    reached: dict[Name, None] = field(default_factory=dict)
    words: set[str] = field(
        default_factory=set
    )  # attributes and texts met: a method of no such name is left out

    def __post_init__(self) -> None:
        known = -1
        while known < len(self.words):  # a method that is kept may name another one
            known = len(self.words)
            self.reached.clear()
            self._follow(self.start)
        self.shown = self._names()

    def source(self, file: Path) -> Source:
        if file not in self.sources:
            self.sources[file] = read(file, file.read_text(encoding="utf-8"))
        return self.sources[file]

    def meant(self, name: Name) -> Name:
        """Through substitutes, and through files that only hand a name on."""
        while (
            further := self.instead.get(name) or self.source(name.file).borrowed.get(name.name)
        ) is not None:
            name = further
        return name

    def statements(self, name: Name) -> list[ast.stmt]:
        """What gives the name its meaning, without methods that nobody calls. Raises ValueError."""
        try:
            found = self.source(name.file).statements[name.name]
        except KeyError:
            raise ValueError(f"{name.file.name} has no {name.name}") from None
        return [self._pruned(each) for each in found]

    def pieces(self, file: Path) -> list[ast.stmt]:
        """The statements of a file that are reached, each once, in its order."""
        mine = [name for name in self.reached if name.file == file and name not in self.given]
        found = {each.lineno: each for name in mine for each in self.statements(name)}
        return [found[line] for line in sorted(found)]

    def files(self) -> list[Path]:
        """Files in an order in which each comes after those that it needs."""
        order: graphlib.TopologicalSorter[Path] = graphlib.TopologicalSorter()
        for name in self.reached:
            needed = {self.meant(each).file for each in self._needs(name)}
            order.add(name.file, *sorted(needed - {name.file}))
        try:
            return list(order.static_order())
        except graphlib.CycleError as problem:
            names = " and ".join(sorted({file.name for file in problem.args[1]}))
            raise ValueError(f"{names} need each other, and cannot be put into one file") from None

    def _follow(self, name: Name) -> None:
        name = self.meant(name)
        if name not in self.reached:
            self.reached[name] = None
            for other in self._needs(name):
                self._follow(other)

    def _needs(self, name: Name) -> Iterator[Name]:
        if name in self.given:
            return
        source = self.source(name.file)
        for statement in self.statements(name):
            self.words |= _words(statement)
            yield from (mention.meant for mention in source.mentions(statement))
            if any(node.id == "globals" for node in module_names(statement)):
                functions = [each.name for each in source.tree.body if isinstance(each, ast.FunctionDef)]
                yield from (Name(name.file, each) for each in functions if each not in self.unneeded)

    def _pruned(self, statement: ast.stmt) -> ast.stmt:
        if not isinstance(statement, ast.ClassDef) or statement.bases:
            return statement  # a class that others made may call what it likes
        return _with(statement, tuple(each for each in statement.body if not self._is_idle(each)))

    def _is_idle(self, member: ast.stmt) -> bool:
        return (
            isinstance(member, Methods) and member.name not in self.words and not member.name.startswith("__")
        )

    def _names(self) -> dict[Name, str]:
        """What each piece is called in the one text: no name twice, and none that a function uses for its own."""
        taken = {*dir(builtins), *keyword.kwlist}
        used = {
            each for file in {name.file for name in self.reached} for each in _identifiers(self.source(file))
        }
        shown: dict[Name, str] = {}
        for name in sorted(self.reached, key=lambda name: self._rank(name.file)):
            keeps = name.file in self.plain
            wanted = name.name if keeps else _with_its_file(name)
            while wanted in taken or (not keeps and wanted in used):
                wanted += "_"
            taken.add(wanted)
            shown[name] = wanted
        return shown

    def _rank(self, file: Path) -> int:
        return self.plain.index(file) if file in self.plain else len(self.plain)


@cache
def _with(whole: ast.ClassDef, members: tuple[ast.stmt, ...]) -> ast.ClassDef:
    """The class with only these members; the same object for the same ones."""
    pruned = copy.copy(whole)
    pruned.body = list(members)
    return pruned


@cache
def _words(statement: ast.stmt) -> Set[str]:
    nodes = list(ast.walk(statement))
    texts = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return texts | {each.attr for each in nodes if isinstance(each, ast.Attribute)}


@cache
def _identifiers(source: Source) -> Set[str]:
    nodes = list(ast.walk(source.tree))
    names = {each.id for each in nodes if isinstance(each, ast.Name)}
    return names | {each.arg for each in nodes if isinstance(each, ast.arg)} | set(source.statements)


def _with_its_file(name: Name) -> str:
    shown = f"{name.file.stem.lstrip('_')}_{name.name.lstrip('_')}"
    return shown.upper() if name.name.isupper() else shown
