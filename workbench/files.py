"""Writes a file whole or not at all: a full disk or an interruption leaves the one from before."""

import contextlib
import errno
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what is written finds no room


def write(file: Path, text: str | bytes) -> None:
    """Makes its folder, too. Raises OSError with the file's name."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    part = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink() or (
            file.exists() and not (file.is_file() or file.is_dir())
        ):  # as is /dev/stdout
            file.write_bytes(data)
            return
        part.write_bytes(data)
        part.replace(file)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from problem
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
