"""A Python file as pieces: what each name of the module stands for, and the text that says so."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from workbench.repro.scopes import bound, module_names

PACKAGE = Path(__file__).parents[1]  # imports of `workbench.` are files below it


@dataclass(frozen=True)
class Name:
    """A name of a module, by the file that the module is."""

    file: Path
    name: str


@dataclass(frozen=True)
class Mention:
    """A place in a file's text where a name of a module stands, as `encode` or as `_fp4.encode`."""

    node: ast.expr
    meant: Name
    written: str


@dataclass(frozen=True)
class Import:
    """An import of something that is not ours: `import module as name`, or `from module import member as name`."""

    name: str
    module: str
    member: str = ""


@dataclass(frozen=True)
class Source:
    """One file."""

    file: Path
    text: str

    def named(self, name: str) -> Name:
        return Name(self.file, name)

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> list[bytes]:
        return [
            line.encode() for line in self.text.split("\n")
        ]  # the parser counts bytes, and no other line ends

    @cached_property
    def statements(self) -> dict[str, list[ast.stmt]]:
        """Name -> the statements of the module that give it its meaning; imports apart."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                for name in sorted(bound(statement)):
                    found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Name -> the file of ours that it stands for, as after `from . import _fp4`."""
        return {name: file for name, file, member in self._ours() if not member}

    @cached_property
    def borrowed(self) -> dict[str, Name]:
        """Name -> what it is called in the file of ours that it comes from."""
        return {name: Name(file, member) for name, file, member in self._ours() if member}

    @cached_property
    def imports(self) -> dict[str, Import]:
        """Name -> the import that gives it its meaning, of modules that are not ours."""
        found = {}
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for each in node.names:
                    found[each.asname or each.name.partition(".")[0]] = Import(each.asname or "", each.name)
            elif isinstance(node, ast.ImportFrom) and _folder(node, self.file) is None:
                for each in node.names:
                    found[each.asname or each.name] = Import(each.asname or "", node.module or "", each.name)
        return found

    def _ours(self) -> Iterator[tuple[str, Path, str]]:
        for node in self.tree.body:
            folder = _folder(node, self.file) if isinstance(node, ast.ImportFrom) else None
            for each in node.names if isinstance(node, ast.ImportFrom) and folder else []:
                shown = each.asname or each.name
                inner = folder / f"{each.name}.py" if folder else None
                if inner and inner.is_file():
                    yield shown, inner, ""
                elif folder:
                    yield shown, _module(folder), each.name

    def mentions(self, statement: ast.stmt) -> list[Mention]:
        """Every mention of a name of this module or of another of ours. Raises ValueError for a module as a value."""
        if statement not in self._mentions:
            self._mentions[statement] = self._looked_for(statement)
        return self._mentions[statement]

    @cached_property
    def _mentions(self) -> dict[ast.stmt, list[Mention]]:
        return {}

    def _looked_for(self, statement: ast.stmt) -> list[Mention]:
        names = {id(node): node for node in module_names(statement)}
        found = []
        for node in ast.walk(statement):
            base = getattr(node, "value", None) if isinstance(node, ast.Attribute) else None
            if isinstance(node, ast.Attribute) and id(base) in names and names[id(base)].id in self.modules:
                meant = Name(self.modules[names.pop(id(base)).id], node.attr)
                found.append(Mention(node, meant, ast.unparse(node)))
        for left in names.values():
            if left.id in self.modules:
                raise ValueError(f"{self.file.name}, line {left.lineno}: {left.id} is used as a value")
            if left.id in self.borrowed or left.id in self.statements:
                meant = self.borrowed.get(left.id) or self.named(left.id)
                found.append(Mention(left, meant, left.id))
        return found

    def imported(self, statement: ast.stmt) -> set[Import]:
        return {self.imports[node.id] for node in module_names(statement) if node.id in self.imports}


@cache
def read(file: Path, text: str) -> Source:
    """One object for the same text: a statement is asked for its names once, whatever is made of it."""
    return Source(file, text)


def _folder(node: ast.ImportFrom, file: Path) -> Path | None:
    """Where `from FOLDER import x` looks, if it is among our own files."""
    parts = (node.module or "").split(".") if node.module else []
    if node.level:
        return file.parents[node.level - 1].joinpath(*parts)
    return PACKAGE.joinpath(*parts[1:]) if parts[:1] == [PACKAGE.name] else None


def _module(folder: Path) -> Path:
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
