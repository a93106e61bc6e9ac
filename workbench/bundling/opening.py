"""Opens a bundle: verified, and unpacked once. The standard library only: it runs before anything else is there.

A bundle comes from elsewhere. Whatever its manifest does not name, or names with another size or hash, or would
land outside the folder, ends it before anything is written in its place.
"""

import hashlib
import os
import re
import shutil
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .checking import BadBundle, Files, check_path, read_manifest

SITE = "site"
CHUNK = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """An unpacked bundle. `plan` is the options of `workbench run`; `files` is path -> (bytes, sha256)."""

    root: Path
    plan: dict[str, Any]
    python: str
    files: Files = field(repr=False)

    def has(self, name: str) -> bool:
        return any(each.startswith(f"{name}/") for each in self.files)


def unpack(file: Path, folder: Path) -> Bundle:
    """The bundle below `folder`, by the hash of the file; taken as it is where it is there, and still whole.

    Raises BadBundle, OSError.
    """
    if file.exists() and not file.is_file():  # a pipe keeps whoever opens it, and a device has no end
        raise BadBundle(f"{file} is no file, and so no bundle")
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = read_manifest(archive)
            root = folder.absolute() / _hash(file)[:16]
            bundle = Bundle(root, manifest["plan"], manifest["python"], manifest["files"])
            if not _whole(bundle):
                _unpack(archive, bundle)
            return bundle
    except OSError as problem:  # a full disk does not say where
        raise OSError(problem.errno, problem.strerror, problem.filename or str(folder)) from problem
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zipfile.zlib.error) as problem:  # type: ignore[attr-defined]
        raise BadBundle(f"{file.name} is no whole bundle: {problem}") from problem


def use(bundle: Bundle) -> None:
    """Makes what the workbench itself needs importable, behind what this machine has."""
    place = str(bundle.root / SITE)
    if place not in sys.path and Path(place).is_dir():
        sys.path.append(place)


def _unpack(archive: zipfile.ZipFile, bundle: Bundle) -> None:
    """Whole or not at all."""
    half = bundle.root.with_name(f".{bundle.root.name}.half-{os.getpid()}")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    try:
        for name, (size, digest) in bundle.files.items():
            target = half / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if _copy(archive, name, target, size) != digest:
                raise BadBundle(f"{name} in the bundle is not what its manifest says: damaged, or changed")
        for wheel in sorted(half.glob("needs/*.whl")):
            _install(wheel, half / SITE)
        shutil.rmtree(bundle.root, ignore_errors=True)
        half.replace(bundle.root)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _copy(archive: zipfile.ZipFile, name: str, target: Path, most: int) -> str:
    """The hash of what was written; stops past `most` bytes, whatever the archive says of itself."""
    digest, left = hashlib.sha256(), most
    with archive.open(name) as source, target.open("wb") as out:
        while chunk := source.read(CHUNK):
            left -= len(chunk)
            if left < 0:
                raise BadBundle(f"{name} in the bundle is longer than its manifest says")
            digest.update(chunk)
            out.write(chunk)
    return digest.hexdigest()


def _install(wheel: Path, site: Path) -> None:
    """A wheel is a zip file; its programs go where `pip install --target` puts them."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            check_path(entry.filename)
            program = re.fullmatch(r"[^/]+\.data/scripts/([^/]+)", entry.filename)
            target = site / ("bin/" + program[1] if program else entry.filename)
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, target.open("wb") as out:
                shutil.copyfileobj(source, out)
            if program:
                target.chmod(0o755)


def _whole(bundle: Bundle) -> bool:
    """Whether all is there as the manifest says; what was unpacked may have been changed since."""
    try:
        return all(_hash(bundle.root / name) == digest for name, (_, digest) in bundle.files.items())
    except OSError:
        return False


def _hash(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
