"""The modules of one release or one folder, by dotted name; each is read and parsed when it is first asked for."""

from __future__ import annotations

from pathlib import PurePosixPath

from .syntax import Module
from .tree import Tree


class World:
    """`find` takes a dotted name.

    `aliases`: a file under a folder without __init__ (src, python) is also known by the name from its package on.
    """

    def __init__(self, tree: Tree, aliases: bool = False) -> None:
        self.tree = tree
        self.files = {
            name: file
            for file in tree.python_files()
            for name in reversed(names_of(file, tree)[: 1 + aliases])
        }
        self.packages = {name for name, file in self.files.items() if file.endswith("__init__.py")}
        self.folders = {
            ".".join(name.split(".")[:depth])
            for name in self.files
            for depth in range(1, name.count(".") + 1)
        }
        self.compiled = {
            name for file in tree.files if file.endswith((".so", ".pyd")) for name in compiled(file)
        }
        self.looked_into: set[str] | None = None  # files; None: all
        self._modules: dict[str, Module] = {}

    def find(self, name: str) -> Module | None:
        """The module of that name, None if there is none or it is not to be looked into."""
        file = self.files.get(name)
        if file is None or (self.looked_into is not None and file not in self.looked_into):
            return None
        if file not in self._modules:
            full = names_of(file, self.tree)[0]
            package = full if file.endswith("__init__.py") else full.rpartition(".")[0]
            self._modules[file] = Module(full, package, file, self.tree.read(file))
        return self._modules[file]

    @property
    def parsed(self) -> list[Module]:
        return list(self._modules.values())

    def is_module(self, name: str) -> bool:
        return name in self.files or name in self.folders or name in self.compiled

    def split(self, dotted: str) -> tuple[str, list[str]]:
        """The longest module in a dotted name, and what is left of it."""
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            if self.is_module(".".join(parts[:count])):
                return ".".join(parts[:count]), parts[count:]
        return "", parts


def compiled(file: str) -> list[str]:
    """The dotted name of an extension module, whose file name goes on after it: _C.cpython-312-x86_64-linux-gnu.so"""
    path = PurePosixPath(file)
    return [".".join([*path.parts[:-1], path.name.split(".")[0]])]


def names_of(file: str, tree: Tree) -> list[str]:
    """The full dotted name first, then the one from its outermost package on."""
    path = PurePosixPath(file)
    parts = [*path.parts[:-1], *([] if path.name == "__init__.py" else [path.stem])]
    parts = [*tree.prefix, *parts]
    names = [".".join(parts)]
    folders = list(path.parts[:-1])
    while folders and "/".join([*folders, "__init__.py"]) in tree.files:
        folders.pop()
    if folders and not tree.prefix:
        names.append(".".join(parts[len(folders) :]))
    return [name for name in names if name]
