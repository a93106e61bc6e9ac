"""One process at a time, with nothing left over when one is killed."""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(folder: Path, name: str, say: Callable[[str], None]) -> Iterator[int]:
    """Waits until no other run makes `name` under `folder`, and keeps others waiting meanwhile.

    Gives the lock's descriptor: a process that inherits it keeps others waiting too, also when we are killed.
    """
    locks = folder / ".locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that makes {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
