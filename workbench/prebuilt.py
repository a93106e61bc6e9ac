"""FlashInfer modules that were built ahead: found in a folder, unpacked once, handed to the worker by path.

    DIR/.../sm90a/flashinfer-0.6.8.post1/fused_moe_90/fused_moe_90.so (or .so.xz)
                                                      fused_moe_90.json: {"trimmed": "bf16 templates only"}

A module without the note beside it is not known to be whole, and is marked so. `sm...` in the path is heeded.
"""

import hashlib
import lzma
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.environments.alone import alone
from workbench.files import write
from workbench.strict_json import object_in

UNKNOWN = "not known to be whole"


@dataclass(frozen=True)
class Module:
    """`mark` says what is special about it, such as "bf16 templates only"; empty for a whole module."""

    name: str
    file: Path
    sha256: str
    mark: str


def modules(folder: Path, flashinfer: str, sm: str, unpacked: Path) -> dict[str, Module]:
    """The modules in `folder` for this FlashInfer version and compute capability, by name.

    Raises ValueError where there is no such folder, a module is no file or cannot be unpacked, or a note is of
    another module; OSError.
    """
    if not folder.is_dir():
        raise ValueError(f"no folder of prebuilt modules {folder}")
    found = {}
    for file in _candidates(folder, flashinfer, sm):
        name = file.name.split(".")[0]
        ready, digest = _ready(file, unpacked)
        note = object_in(file.with_name(f"{name}.json"))
        _check(file, note, module=name, flashinfer=flashinfer, arch=sm, sha256=digest)
        found[name] = Module(name, ready, digest, str(note.get("trimmed", UNKNOWN)))
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
    if not file.is_file():  # a pipe keeps whoever opens it
        raise ValueError(f"{file} is no file, and so no module: take it away")
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
    with alone(unpacked, digest[:16], lambda text: None):
        if not (target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == digest):
            write(target, data)
    return target, digest


def _check(file: Path, note: Mapping[str, Any], **known: str) -> None:
    """What the note says of its module, as far as it does, is so: the figures of another would stand for this one."""
    for name, value in known.items():
        said = str(note.get(name, value))
        if (said.rstrip("af") if name == "arch" else said) != value:
            raise ValueError(
                f"{file}: the note beside it is of a module with {name} {said[:64]!r}, and this one has {value!r}: "
                "make it anew with `workbench prebuild`, or take it away"
            )
