"""A matrix in pieces that fit a page: a grid for each kernel and GPU, without columns that have none of its trials."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.showing import legend
from workbench.untrusted import plain

if TYPE_CHECKING:
    from workbench.matrix import Row

Head = tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """`rows` have a square for each of `columns`; `where` is the GPU, empty where GPUs or modes are the columns."""

    kernel: str
    where: str
    columns: list[str]
    rows: list["Row"]

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (plain(self.kernel), self.where)))


def places(heads: Sequence[Head]) -> dict[str, list[int]]:
    """GPU -> which columns are its."""
    found: dict[str, list[int]] = {}
    for place, (_, *gpu) in enumerate(heads):
        found.setdefault(", ".join(plain(legend.gpu(name)) for name in gpu), []).append(place)
    return found


def column(head: Head) -> str:
    return plain(legend.gpu(head[0]))


def grids(heads: Sequence[Head], rows: Sequence["Row"]) -> list[Grid]:
    by_kernel = ((kernel, list(mine)) for kernel, mine in groupby(rows, lambda row: row.kernel))
    return [grid for kernel, mine in by_kernel for grid in _of_kernel(kernel, heads, mine)]


def _of_kernel(kernel: str, heads: Sequence[Head], rows: list["Row"]) -> Iterator[Grid]:
    for where, those in places(heads).items():
        used = [place for place in those if any(row.squares[place] for row in rows)]
        kept = [replace(row, squares=tuple(row.squares[place] for place in used)) for row in rows]
        kept = [row for row in kept if any(row.squares)]
        if kept:
            yield Grid(kernel, where, [column(heads[place]) for place in used], kept)
