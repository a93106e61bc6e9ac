"""The files of a release: an unpacked wheel, a wheel as it is, a folder, or one file. Read, never executed."""

from __future__ import annotations

import base64
import csv
import hashlib
import zipfile
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser
from functools import cached_property
from pathlib import Path, PurePosixPath

SKIPPED = {"__pycache__", ".git", ".venv", "node_modules", ".mypy_cache", ".environments"}
LARGEST = 8_000_000  # bytes of a source file that is still read


@dataclass
class Tree:
    """`name` and `version` as its metadata say; `prefix` are the packages that the root itself lies in.

    `only` is the one package of a folder that is meant, where the folder has many.
    """

    root: Path
    name: str = ""
    version: str = ""
    prefix: tuple[str, ...] = ()
    only: str = ""
    archive: zipfile.ZipFile | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}".strip() or self.root.name

    @cached_property
    def files(self) -> dict[str, int]:
        """Path inside -> size in bytes."""
        if self.archive:
            return {each.filename: each.file_size for each in self.archive.infolist() if not each.is_dir()}
        if self.root.is_file():
            return {self.root.name: self.root.stat().st_size}
        found = {}
        for path in (self.root / self.only).rglob("*"):
            inside = path.relative_to(self.root)
            if not SKIPPED.intersection(inside.parts) and path.is_file():
                found[inside.as_posix()] = path.stat().st_size
        return found

    def python_files(self) -> list[str]:
        return sorted(
            name
            for name, size in self.files.items()
            if name.endswith(".py") and size <= LARGEST and ".dist-info/" not in name
        )

    def read(self, file: str) -> str:
        """As text; what is no UTF-8 is replaced, and an unreadable file is empty."""
        try:
            if self.archive:
                data = self.archive.read(file)
            else:
                data = (self.root if self.root.is_file() else self.root / file).read_bytes()
        except (OSError, KeyError, zipfile.BadZipFile):
            return ""
        return data.decode("utf-8", "replace").removeprefix("\ufeff")

    def digest(self, file: str) -> str:
        """The hash that its RECORD states, else of its contents."""
        if stated := self._record.get(file):
            return stated
        digest = hashlib.sha256(self.read(file).encode("utf-8", "replace")).digest()
        return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def metadata(self, key: str) -> list[str]:
        return [str(value) for value in self._metadata.get_all(key, [])]

    def packages(self) -> list[str]:
        """Top-level names that can be imported."""
        tops = {PurePosixPath(file).parts[0] for file in self.python_files() if "/" in file}
        return sorted(top for top in tops if "." not in top and f"{top}/__init__.py" in self.files)

    @cached_property
    def _metadata(self) -> Message:
        file = next((name for name in self.files if name.endswith(".dist-info/METADATA")), "")
        return HeaderParser().parsestr(self.read(file) if file else "")

    @cached_property
    def _record(self) -> dict[str, str]:
        file = next((name for name in self.files if name.endswith(".dist-info/RECORD")), "")
        rows = csv.reader(self.read(file).splitlines() if file else [])
        return {row[0]: row[1] for row in rows if len(row) > 1 and row[1]}


def open_tree(path: Path) -> Tree:
    """A wheel, an unpacked wheel, a folder of sources or a single file. Raises ValueError."""
    if path.suffix in (".whl", ".zip"):
        return _open_wheel(path)
    if path.is_file() and path.suffix != ".py":
        raise ValueError(f"{path.name} is neither a Python file, a folder nor a wheel")
    if not path.exists():
        raise ValueError(f"there is no {path}")
    tree = Tree(path, prefix=_packages_above(path))
    return _named(tree) if path.is_dir() else tree


def _open_wheel(path: Path) -> Tree:
    if path.exists() and not path.is_file():  # a pipe keeps whoever opens it
        raise ValueError(f"{path.name} is no file, and so no wheel; unpacked, it has another name")
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path.name} cannot be read as a wheel: {type(error).__name__}") from error
    return _named(Tree(path, archive=archive))


def _named(tree: Tree) -> Tree:
    tree.name = next(iter(tree.metadata("Name")), "")
    tree.version = next(iter(tree.metadata("Version")), "")
    return tree


def _packages_above(path: Path) -> tuple[str, ...]:
    folder = path.resolve() if path.is_dir() else path.resolve().parent
    names: list[str] = []
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return tuple(names)
