"""Makes the copies that `cache` keeps, in two processes, before several pages need them at once.

The rule: nothing depends on it. What is not copied here is parsed by whoever loads it.
"""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from workbench import cache, store

AT_ONCE = 2
WORTH_IT = 20_000_000  # bytes: parsed in about a second


def copy(folders: Iterable[Path | str]) -> None:
    """Makes the copies that are lacking, if that takes longer than starting processes for it."""
    files = [file for folder in map(Path, folders) for file in store.files(folder) if _lacking(file)]
    if sum(file.stat().st_size for file in files) < WORTH_IT:
        return
    making = [subprocess.Popen([sys.executable, "-m", __name__, *each]) for each in _shares(files)]
    for process in making:
        process.wait()


def _lacking(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size >= cache.SMALLEST and not cache.known(file)
    except OSError:
        return False


def _shares(files: Sequence[Path]) -> list[list[str]]:
    """Of about the same size, the largest files first."""
    shares: list[list[str]] = [[] for _ in range(AT_ONCE)]
    sizes = [0] * AT_ONCE
    for file in sorted(files, key=lambda file: -file.stat().st_size):
        least = sizes.index(min(sizes))
        shares[least].append(str(file))
        sizes[least] += file.stat().st_size
    return [share for share in shares if share]


if __name__ == "__main__":
    for file in sys.argv[1:]:
        store.load_file(Path(file))
