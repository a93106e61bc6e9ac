"""triton_kernels out of a sglang-kernel wheel: 0.4 of 322 MB, repacked as a wheel that can be carried."""

import base64
import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from .alone import alone
from .installer import BuildError, install
from .requirement import CARRIED as NAME
from .requirement import COMPONENT, DONOR

STEM = NAME.replace("-", "_")
DATE = (1980, 1, 1, 0, 0, 0)  # the same wheel from the same donor, to the byte


def find(version: str, folder: Path, wheels: Path | None, python: Path, say: Callable[[str], None]) -> Path:
    """The component's wheel: from `wheels` or `folder`, else out of a donor, which is fetched if need be."""
    name = f"{STEM}-{version}-py3-none-any.whl"
    with alone(folder, name, say):  # two environments may want the same one
        for place in filter(None, (wheels, folder)):
            if (place / name).is_file():
                return place / name
        if wheels is None:
            say(f"fetching {DONOR} {version} (0.3 GB, once) for its {COMPONENT}")
            return repack(version, folder, python)
        donors = sorted(wheels.glob(f"{DONOR.replace('-', '_')}-{version}-*.whl"))
        if not donors:
            raise BuildError(
                f"the folder of wheels has neither {name} nor a {DONOR} {version} wheel to take it from"
            )
        return repack(donors[0], folder, python)


def repack(wheel_or_version: Path | str, destination: Path, python: Path = Path(sys.executable)) -> Path:
    """Writes the component's wheel into `destination`, out of a donor's wheel; given a version, fetches it.

    Raises BuildError if it cannot be fetched, read, or has no such folder.
    """
    destination.mkdir(parents=True, exist_ok=True)
    source = Path(wheel_or_version)
    if source.suffix == ".whl":
        return _write(_from_wheel(source), source.name.split("-")[1], destination)
    # On the disk of the destination, and past uv's cache: it is not worth keeping.
    half = f".fetching-{wheel_or_version}-"
    for left in destination.glob(f"{half}*"):  # of a run that was killed: `find` holds the lock
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=destination, prefix=half) as unpacked:
        requirement = f"{DONOR}=={wheel_or_version}"
        install(python, [requirement], None, "--no-deps", "--no-cache", "--target", unpacked)
        return _write(_from_folder(Path(unpacked)), str(wheel_or_version), destination)


def _wanted(name: str) -> str | None:
    """Where a file of the donor goes, None if it stays behind."""
    path = PurePosixPath(name)
    if path.parts[0] == COMPONENT and "__pycache__" not in path.parts and ".." not in path.parts:
        return name
    if ".dist-info" in path.parts[0] and path.name.upper().startswith(("LICENSE", "NOTICE")):
        return f"licenses/{path.name}"
    return None


def _from_wheel(wheel: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(wheel) as donor:
            names = [name for name in donor.namelist() if not name.endswith("/")]
            return {to: donor.read(name) for name in names if (to := _wanted(name))}
    except (OSError, zipfile.BadZipFile) as error:
        raise BuildError(f"{wheel.name} cannot be read: {type(error).__name__}") from error


def _from_folder(folder: Path) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {to: path.read_bytes() for name, path in files.items() if (to := _wanted(name))}


def _write(files: dict[str, bytes], version: str, destination: Path) -> Path:
    if f"{COMPONENT}/__init__.py" not in files:
        raise BuildError(f"{DONOR} {version} has no folder {COMPONENT}")
    info = f"{STEM}-{version}.dist-info"
    placed = {
        (name if name.startswith(COMPONENT) else f"{info}/{name}"): data for name, data in files.items()
    }
    placed[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n"
        f"Summary: The folder {COMPONENT} of {DONOR} {version}, unchanged, and nothing else of it.\n"
    ).encode()
    placed[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: workbench\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(f"{name},{_digest(placed[name])},{len(placed[name])}\n" for name in sorted(placed))
    placed[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    target = destination / f"{STEM}-{version}-py3-none-any.whl"
    handle, half = tempfile.mkstemp(dir=destination, prefix=".repacking-")
    with os.fdopen(handle, "w+b") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(placed):
            archive.writestr(_entry(name), placed[name])
    Path(half).chmod(0o644)
    Path(half).replace(target)
    return target


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, DATE)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return entry


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
