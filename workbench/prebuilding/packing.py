"""A module as `--prebuilt DIR` reads it: packed, with a note beside it on how it was made."""

import hashlib
import json
import lzma
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from workbench.environments import BuildError, Built
from workbench.files import write
from workbench.strict_json import object_in

from .compiling import CompileError
from .toolkit import Toolkit

# Not ctypes.CDLL, which binds all functions at once; the library's loader does not.
OPEN = """
import ctypes, os, sys, tvm_ffi
c = ctypes.CDLL(None)
c.dlopen.restype, c.dlerror.restype = ctypes.c_void_p, ctypes.c_char_p
opened = c.dlopen(sys.argv[1].encode(), os.RTLD_LAZY | os.RTLD_GLOBAL)
sys.exit(None if opened else c.dlerror().decode())
"""
OPEN_LIMIT_S = 120
BROKEN = r"undefined symbol.*|cannot open shared object.*|invalid ELF.*|file too short.*"


def place_of(built: Built, output: Path, arch: str, name: str) -> Path:
    """Where the environment's packed module lies; its FlashInfer may be inherited."""
    return place(output, arch, {**built.inherited, **built.packages}["flashinfer-python"], name)


def place(output: Path, arch: str, version: str, name: str) -> Path:
    """Where the packed module lies; its note is beside it."""
    return output / f"sm{arch.replace('.', '')}" / f"flashinfer-{version}" / name / f"{name}.so.xz"


def note_of(file: Path) -> Path:
    return file.with_name(f"{file.name.partition('.')[0]}.json")


def same(file: Path, note: dict[str, Any]) -> bool:
    """Whether the module is there, made the same way from the same sources, and whole as written."""
    try:
        there = json.loads(note_of(file).read_text(encoding="utf-8"))
        return (
            note.items() <= there.items() and hashlib.sha256(file.read_bytes()).hexdigest() == there["packed"]
        )
    except (OSError, ValueError, LookupError, AttributeError):
        return False


def whole(library: Path, file: Path) -> bool:
    """Whether the library is the one that was packed into `file`: it was made to its end, and is as it was."""
    try:
        with library.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest() == object_in(note_of(file)).get("sha256")
    except OSError:
        return False


def check(library: Path, built: Built, toolkit: Toolkit) -> None:
    """Opens it once: functions may be missing until they are called, but nothing else may.

    Some modules ask the GPU for something as they are opened, and end the process where there is none: no fault.
    Raises CompileError, BuildError.
    """
    places = [str(library.parent / "stand_ins"), str(toolkit.home / "lib64")]
    variables = {**os.environ, **built.variables, "LD_LIBRARY_PATH": os.pathsep.join(places)}
    command = [str(built.python), "-I", "-c", OPEN, str(library)]
    try:
        done = subprocess.run(command, env=variables, capture_output=True, timeout=OPEN_LIMIT_S, cwd="/")
    except subprocess.TimeoutExpired as problem:
        raise BuildError(f"{library.name} was made, and was not open after {OPEN_LIMIT_S} s") from problem
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode and (why := re.search(BROKEN, said)):
        raise CompileError(f"{library.name} was made and cannot be opened: {why[0][:300]}", said)


def pack(library: Path, file: Path, note: dict[str, Any]) -> None:
    """The note comes last: a module without one is not known to be whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    note_of(file).unlink(missing_ok=True)
    data = library.read_bytes()
    packed = lzma.compress(data, preset=6)
    write(file, packed)
    hashes = {"sha256": hashlib.sha256(data).hexdigest(), "packed": hashlib.sha256(packed).hexdigest()}
    write(note_of(file), json.dumps({**note, **hashes}, indent=1).encode() + b"\n")
