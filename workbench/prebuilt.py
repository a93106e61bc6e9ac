"""FlashInfer modules that were built ahead: found in a folder, unpacked once, handed to the worker by path.

    DIR/.../sm90a/flashinfer-0.6.8.post1/fused_moe_90/fused_moe_90.so (or .so.xz)
                                                      fused_moe_90.json: {"trimmed": "bf16 templates only"}

A module without the note beside it is not known to be whole, and is marked so. `sm...` in the path is heeded.
"""

import hashlib
import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Module:
    """`mark` says what is special about it, such as "bf16 templates only"; empty for a whole module."""

    name: str
    file: Path
    sha256: str
    mark: str


def modules(folder: Path, flashinfer: str, sm: str, unpacked: Path) -> dict[str, Module]:
    """The modules in `folder` for this FlashInfer version and compute capability, by name.

    Raises ValueError where there is no such folder, or a packed file cannot be unpacked.
    """
    if not folder.is_dir():
        raise ValueError(f"no folder of prebuilt modules {folder}")
    found = {}
    for file in _candidates(folder, flashinfer, sm):
        name = file.name.split(".")[0]
        found[name] = Module(name, *_ready(file, unpacked), _mark(file.with_name(f"{name}.json")))
    return found


def _candidates(folder: Path, flashinfer: str, sm: str) -> Iterator[Path]:
    wanted = re.compile(rf"sm{re.escape(sm.replace('.', ''))}[af]?$")
    for file in sorted(folder.rglob("*.so*")):
        parts = file.relative_to(folder.parent).parts
        archs = [part for part in parts if re.fullmatch(r"sm\d+[af]?", part)]
        if f"flashinfer-{flashinfer}" in parts and all(wanted.match(arch) for arch in archs):
            yield file


def _ready(file: Path, unpacked: Path) -> tuple[Path, str]:
    """The module's file, unpacked where it must be, and its hash."""
    data = file.read_bytes()
    if file.suffix == ".xz":
        try:
            data = lzma.decompress(data)
        except lzma.LZMAError as problem:
            raise ValueError(f"{file} cannot be unpacked: {problem}") from problem
    digest = hashlib.sha256(data).hexdigest()
    if file.suffix != ".xz":
        return file.resolve(), digest
    target = unpacked.resolve() / digest[:16] / file.stem
    if not target.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        whole = target.with_suffix(".part")
        whole.write_bytes(data)
        whole.replace(target)
    return target, digest


def _mark(note: Path) -> str:
    try:
        said = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "not known to be whole"
    return str(said.get("trimmed", "")) if isinstance(said, dict) else "not known to be whole"
