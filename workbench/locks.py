"""One run on one GPU at a time, whoever starts it."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

FOLDER = Path("/tmp/workbench-locks")  # not TMPDIR: all users must meet here


class Busy(OSError):
    """Another run holds the GPU."""


@contextlib.contextmanager
def hold(name: str, wait: bool = True, say: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Hold the lock of this name; waits for its holder, or raises Busy. It ends with its process."""
    handle = _open(f"{name}.lock")
    try:
        _lock(handle, wait, say)
        yield
    finally:
        os.close(handle)


def _open(name: str) -> int:
    """Other users of this machine lock the same cards; none of them may lead us elsewhere with a link."""
    with contextlib.suppress(FileExistsError):
        FOLDER.mkdir()
    folder = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    with contextlib.suppress(PermissionError):
        os.fchmod(folder, 0o1777)
    how = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            return os.open(name, how, dir_fd=folder)  # O_CREAT on another user's file is refused here
        except FileNotFoundError:
            handle = os.open(name, how | os.O_CREAT, 0o666, dir_fd=folder)
            os.fchmod(handle, 0o666)
            return handle
    finally:
        os.close(folder)


def _lock(handle: int, wait: bool, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.pread(handle, 20, 0)
        holder = written.decode() if written.isdigit() else "unknown"
        if not wait:
            raise Busy(f"another run (process {holder}) holds the GPU; leave out --no-wait to wait") from None
        say(f"another run (process {holder}) holds the GPU: waiting for it to end")
        fcntl.flock(handle, fcntl.LOCK_EX)
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
