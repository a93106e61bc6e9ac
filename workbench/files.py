"""Writes a file whole or not at all: a full disk or an interruption leaves the one from before."""

import contextlib
import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what is written finds no room


def make_folder(folder: Path) -> None:
    """Raises OSError where nothing could be written there: now, and not after what was to be written is made."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "nothing can be written here", str(folder))


def write(file: Path, text: str | bytes) -> None:
    """Makes its folder, too. Raises OSError with the file's name."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    part = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink() or (
            file.exists() and not (file.is_file() or file.is_dir())
        ):  # as is /dev/stdout
            _write_through(file, data)
            return
        part.write_bytes(data)
        part.replace(file)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from problem
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _write_through(file: Path, data: bytes) -> None:
    """A pipe that nobody reads would keep whoever opens it as usual."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
    os.set_blocking(handle, True)
    with os.fdopen(handle, "wb") as out:
        out.write(data)
