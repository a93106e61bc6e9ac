"""One run on one GPU at a time, whoever starts it."""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path


class Busy(RuntimeError):
    """Another run holds the GPU."""


@contextlib.contextmanager
def hold(name: str, wait: bool = True, say: Callable[[str], None] = lambda text: None) -> Iterator[None]:
    """Hold the lock of this name; waits for its holder, or raises Busy. It ends with its process."""
    folder = Path("/tmp/workbench-locks")  # not TMPDIR: all users must meet here
    folder.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):
        folder.chmod(0o1777)  # other users of this machine lock the same cards
    file = folder / f"{name}.lock"
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    with contextlib.suppress(PermissionError):
        os.fchmod(handle, 0o666)
    try:
        _lock(handle, wait, say)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, wait: bool, say: Callable[[str], None]) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip() or "unknown"
        if not wait:
            raise Busy(f"another run (process {holder}) holds the GPU; leave out --no-wait to wait") from None
        say(f"another run (process {holder}) holds the GPU: waiting for it to end")
        fcntl.flock(handle, fcntl.LOCK_EX)
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
