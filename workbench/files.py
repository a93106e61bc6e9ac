"""Writes a file whole or not at all: a full disk or an interruption leaves the one from before."""

import contextlib
from pathlib import Path


def write(file: Path, text: str) -> None:
    """Makes its folder, too. Raises OSError with the file's name."""
    part = file.with_name(f".{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink() or (
            file.exists() and not (file.is_file() or file.is_dir())
        ):  # as is /dev/stdout
            file.write_text(text, encoding="utf-8", errors="replace")
            return
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(file)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from problem
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
