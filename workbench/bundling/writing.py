"""Writes a bundle: whole, within its limit, or not at all."""

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .checking import MANIFEST, SCHEMA

DATE = (1980, 1, 1, 0, 0, 0)  # the same bundle from the same files, to the byte
PACKED = (".whl", ".xz")  # packing them again gains nothing


@dataclass(frozen=True)
class Item:
    """A file of a bundle: its path there, where it is now, and what it is for."""

    path: str
    source: Path
    what: str


@dataclass(frozen=True)
class Written:
    """`rows` is an object a file: path, bytes, sha256, what, and carried_bytes (packed)."""

    file: Path
    bytes: int
    sha256: str
    rows: list[dict[str, Any]]


class TooLarge(Exception):
    """The bundle would be larger than allowed. `left_out` are the rows that do not fit, in the order of carrying."""

    def __init__(self, bytes_: int, left_out: list[dict[str, Any]]):
        super().__init__(f"it would have {bytes_ / 2**20:.1f} MiB")
        self.bytes, self.left_out = bytes_, left_out


def write(
    items: Sequence[Item], plan: Mapping[str, Any], python: str, file: Path, limit_bytes: int | None
) -> Written:
    """The most needed items come first.

    Raises TooLarge, OSError, ValueError for an item that is no file; then there is no bundle, or the one from before.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, half = tempfile.mkstemp(dir=file.parent, prefix=".bundling-")
    part = Path(half)
    try:
        with os.fdopen(handle, "w+b") as out, zipfile.ZipFile(out, "w") as archive:
            rows = [_add(archive, item) for item in items]
            said = [{name: row[name] for name in ("path", "bytes", "sha256", "what")} for row in rows]
            manifest = {"schema": SCHEMA, "python": python, "plan": dict(plan), "files": said}
            archive.writestr(_entry(MANIFEST), json.dumps(manifest, indent=1))
        size = part.stat().st_size
        if limit_bytes is not None and size > limit_bytes:
            raise TooLarge(
                size, _beyond(rows, limit_bytes - (size - sum(row["carried_bytes"] for row in rows)))
            )
        digest = hashlib.sha256(part.read_bytes()).hexdigest()
        part.chmod(0o644)
        part.replace(file)
        return Written(file, size, digest, rows)
    finally:
        part.unlink(missing_ok=True)


def _add(archive: zipfile.ZipFile, item: Item) -> dict[str, Any]:
    if not item.source.is_file():  # a pipe keeps whoever opens it
        raise ValueError(f"{item.source} is no file, and cannot be put into a bundle")
    data, entry = item.source.read_bytes(), _entry(item.path)
    archive.writestr(entry, data)
    return {
        "path": item.path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "what": item.what,
        "carried_bytes": archive.getinfo(item.path).compress_size,
    }  # fmt: skip


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type = zipfile.ZIP_STORED if name.endswith(PACKED) else zipfile.ZIP_DEFLATED
    entry.external_attr = 0o100644 << 16
    return entry


def _beyond(rows: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The rows that find no room when all are put in, one after the other."""
    left_out = []
    for row in rows:
        if row["carried_bytes"] <= room:
            room -= row["carried_bytes"]
        else:
            left_out.append(row)
    return left_out
