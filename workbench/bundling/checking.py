"""What a bundle says of itself, checked before any of it is taken. The standard library only."""

import json
import re
import stat
import zipfile
from collections.abc import Mapping
from typing import Any

MANIFEST, SCHEMA = "manifest.json", 1
MOST_BYTES, MOST_FILES, LONGEST_MANIFEST = 16 << 30, 20_000, 16 << 20
Files = Mapping[str, tuple[int, str]]


class BadBundle(ValueError):
    """Why it is not opened."""


def read_manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    """`plan`, `python` and `files`, checked for form, and against what is in the archive. Raises BadBundle."""
    try:
        entry = archive.getinfo(MANIFEST)
        if entry.file_size > LONGEST_MANIFEST:
            raise BadBundle("the manifest of the bundle is too long")
        said = json.loads(archive.read(entry))
        if said["schema"] != SCHEMA:
            raise BadBundle(
                f"the bundle has schema {str(said['schema'])[:20]}, and this workbench reads {SCHEMA}"
            )
        files = {str(each["path"]): (int(each["bytes"]), str(each["sha256"])) for each in said["files"]}
        found = {"plan": dict(said["plan"]), "python": str(said["python"]), "files": files}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        if isinstance(problem, BadBundle):
            raise
        raise BadBundle("the manifest of the bundle cannot be read") from problem
    _check(archive, files)
    return found


def _check(archive: zipfile.ZipFile, files: Files) -> None:
    names = [each.filename for each in archive.infolist()]
    if sorted(names) != sorted([*files, MANIFEST]):
        odd = next((each for each in sorted(set(names) ^ {*files, MANIFEST})), "a name that is there twice")
        raise BadBundle(f"the bundle and its manifest do not name the same files: {odd[:100]!r}")
    if len(files) > MOST_FILES or sum(size for size, _ in files.values()) > MOST_BYTES:
        raise BadBundle("the bundle is larger than any that the workbench makes")
    for each in archive.infolist():
        check_path(each.filename)
        kind = stat.S_IFMT(each.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise BadBundle(f"{each.filename[:100]!r} in the bundle is no plain file")
        if each.filename != MANIFEST and each.file_size != files[each.filename][0]:
            raise BadBundle(f"{each.filename[:100]!r} in the bundle has another size than its manifest says")


def check_path(name: str) -> None:
    """Raises BadBundle for a name that is no plain path below the folder it is put into."""
    parts = name.split("/")
    plain = re.fullmatch(r"[\w.+!@ -]+(/[\w.+!@ -]+)*", name, re.ASCII) and len(name) < 1000
    if not plain or {".", "..", ""} & set(parts):
        raise BadBundle(f"{name[:100]!r} in the bundle would lie outside its folder")
