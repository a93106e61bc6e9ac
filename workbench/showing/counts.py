"""How many trials ended how, by kernel and column: the short form of a matrix."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from workbench.results import Standing
from workbench.showing import legend
from workbench.showing.grids import Head, column, places
from workbench.showing.tables import block, table, text_table, upright
from workbench.untrusted import escaped, plain

if TYPE_CHECKING:
    from workbench.matrix import Row

HEAD = 60  # characters of a column heading
Squares = list[Standing | None]
_CHIPS = {look.word: (kind, look.letter) for kind, look in legend.LOOKS.items()}
_CHIPS["flaky"] = ("flaky", legend.FLAKY)


@dataclass(frozen=True)
class Counts:
    """Shows itself, a table for each GPU; a trial that another column has and this one lacks is not counted.

    `named` is what the columns are: environment, gpu or mode.
    """

    heads: list[Head]
    rows: list["Row"]
    named: str = "environment"

    def tables(self) -> str:
        return "".join(self._table(where, those) for where, those in places(self.heads).items())

    def __repr__(self) -> str:
        return "\n\n".join(self._text(where, those) for where, those in places(self.heads).items())

    def _repr_html_(self) -> str:
        return block(
            self.tables() if self.rows else "<p>No results yet: <code>workbench run</code> makes them.</p>"
        )

    def _table(self, where: str, those: list[int]) -> str:
        rows = [[escaped(kernel), *map(_chips, columns)] for kernel, columns in self._kernels(those)]
        columns = [escaped(column(self.heads[place]), HEAD) for place in those]
        return table(_caption(where), *upright(("kernel", self.named), columns, rows))

    def _text(self, where: str, those: list[int]) -> str:
        rows = [[plain(kernel), *map(_tally, columns)] for kernel, columns in self._kernels(those)]
        heads, rows = upright(("kernel", self.named), [column(self.heads[place]) for place in those], rows)
        return f"{_caption(where)}\n{text_table(heads, rows)}"

    def _kernels(self, those: list[int]) -> Iterator[tuple[str, list[Squares]]]:
        """Each kernel that has trials in these columns, and its squares by column."""
        for kernel, mine in groupby(self.rows, lambda row: row.kernel):
            squares = [row.squares for row in mine]
            columns: list[Squares] = [[row[place] for row in squares] for place in those]
            if any(square for squares_of in columns for square in squares_of):
                yield kernel, columns


def head_text(names: Head) -> str:
    """A column heading as text: `flashinfer 0.6.11 on NVIDIA H200`."""
    first, *rest = (plain(legend.gpu(name)) for name in names)
    return " ".join([first, *(f"({name})" if name == legend.NO_GPU else f"on {name}" for name in rest)])


def _caption(where: str) -> str:
    return "Trials by kernel and outcome" + (f", {where}" if where else "")


def _tally(squares: Squares) -> str:
    return legend.tally(squares) if any(squares) else legend.UNPLANNED.letter


def _chips(squares: Squares) -> str:
    return " ".join(
        f'<span class="chip o-{_CHIPS[name][0]}"><b>{_CHIPS[name][1]}</b> {count} {name}</span>'
        for name, count in legend.counted(squares).items()
    )
