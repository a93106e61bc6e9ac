"""How many trials ended how, by kernel and column: the short form of a matrix."""

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.results import Standing
from workbench.showing import legend
from workbench.showing.tables import block, table, text_table
from workbench.untrusted import escaped, plain

if TYPE_CHECKING:
    from workbench.matrix import Row

HEAD = 60  # characters of a column heading
Head = tuple[str, ...]
_CHIPS = {look.word: (kind, look.letter) for kind, look in legend.LOOKS.items()}
_CHIPS["flaky"] = ("flaky", legend.FLAKY)


@dataclass(frozen=True)
class Counts:
    """Shows itself; a trial that another column has and this one lacks is not counted: nobody planned it."""

    heads: list[Head]
    rows: list["Row"]

    @property
    def columns(self) -> dict[str, list[list[Standing | None]]]:
        """Kernel -> for each column its squares."""
        grouped = ((kernel, list(rows)) for kernel, rows in groupby(self.rows, lambda row: row.kernel))
        return {
            kernel: [[row.squares[place] for row in rows] for place in range(len(self.heads))]
            for kernel, rows in grouped
        }

    def table(self) -> str:
        rows = [[escaped(kernel), *map(_chips, columns)] for kernel, columns in self.columns.items()]
        return table("Trials by kernel and outcome", ["kernel", *heads(self.heads)], rows)

    def __repr__(self) -> str:
        rows = [[plain(kernel), *map(legend.tally, columns)] for kernel, columns in self.columns.items()]
        return text_table(["kernel", *map(head_text, self.heads)], rows)

    def _repr_html_(self) -> str:
        return block(
            self.table() if self.rows else "<p>No results yet: <code>workbench run</code> makes them.</p>"
        )


def heads(names: list[Head]) -> list[str]:
    """Column headings: environment, and its GPU in smaller letters below."""
    shown = [[escaped(legend.gpu(name), HEAD) for name in each] for each in names]
    return [" ".join([first, *(f"<small>{name}</small>" for name in rest)]) for first, *rest in shown]


def head_text(names: Head) -> str:
    """A column heading as text: `flashinfer 0.6.11 on NVIDIA H200`."""
    first, *rest = (plain(legend.gpu(name)) for name in names)
    return " ".join([first, *(f"({name})" if name == legend.NO_GPU else f"on {name}" for name in rest)])


def _chips(squares: list[Standing | None]) -> str:
    return " ".join(
        f'<span class="chip o-{_CHIPS[name][0]}"><b>{_CHIPS[name][1]}</b> {count} {name}</span>'
        for name, count in legend.counted(squares).items()
    )
