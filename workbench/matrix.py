"""Results as rows and columns: a row is a case of a kernel, a column an environment on a GPU."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.results import Results, Standing, Trial
from workbench.showing import legend, matrix_page, matrix_text
from workbench.showing.counts import Counts, head_text
from workbench.untrusted import natural, plain

if TYPE_CHECKING:
    import pandas

COLUMNS = {"environment": ("environment", "gpu"), "gpu": ("gpu",), "mode": ("mode",)}
AXES = ("mode", "environment", "gpu")
NAMED = {"cutlass_moe", "fp4_quantize", "mxfp4_swiglu", "trtllm_attention"}  # by the README: they come first
MOST_KEYS = 9  # a case with more is one text, not columns


@dataclass(frozen=True)
class Row:
    """`own` is the case without what all cases of its kernel share, which is `held`.

    `names` are mode, environment or GPU, as far as they are not columns. A square nobody planned is None.
    """

    kernel: str
    case: str
    own: dict[str, str]
    held: str
    names: tuple[str, ...]
    squares: tuple[Standing | None, ...]

    @property
    def short(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.own.items())


@dataclass(frozen=True)
class Matrix:
    """Rows by columns; `columns` is environment (with its GPU), gpu or mode."""

    results: Results
    columns: str = "environment"

    def __post_init__(self) -> None:
        if self.columns not in COLUMNS:
            raise ValueError(f"columns is one of {', '.join(COLUMNS)}, not {self.columns!r}")

    @cached_property
    def standings(self) -> Mapping[Trial, Standing]:
        return self.results.trials()

    @property
    def row_axes(self) -> tuple[str, ...]:
        return tuple(axis for axis in AXES if axis not in COLUMNS[self.columns])

    @cached_property
    def heads(self) -> list[tuple[str, ...]]:
        """What names each column: environment and GPU, or GPU, or mode."""
        found = {self._names(trial, COLUMNS[self.columns]) for trial in self.standings}
        return sorted(found, key=lambda names: ("none" in names, [natural(name) for name in names]))

    @cached_property
    def rows(self) -> list[Row]:
        rows: dict[tuple[Any, ...], dict[tuple[str, ...], Standing]] = {}
        for trial, standing in self.standings.items():
            row = rows.setdefault((trial.kernel, trial.case_text, *self._names(trial, self.row_axes)), {})
            row[self._names(trial, COLUMNS[self.columns])] = standing
        ordered = sorted(rows.values(), key=lambda row: self._place(next(iter(row.values())).result.trial))
        shared = _shared([next(iter(row.values())).result.trial for row in ordered])
        return [self._row(row, shared) for row in ordered]

    @property
    def squares(self) -> list[Standing | None]:
        return [square for row in self.rows for square in row.squares]

    def labels(self, rows: list[Row]) -> tuple[list[str], list[list[str]]]:
        """What tells a kernel's rows apart: headings and, for each row, an entry below each of them."""
        keys = list(dict.fromkeys(name for row in rows for name in row.own))
        if len(keys) > MOST_KEYS or not keys:
            return [*self.row_axes, "case"], [[*map(plain, row.names), row.short] for row in rows]
        entries = [[*map(plain, row.names), *(row.own.get(key, "-") for key in keys)] for row in rows]
        return [*self.row_axes, *keys], entries

    def counts(self) -> Counts:
        """How many ended how, by kernel and column."""
        return Counts(self.heads, self.rows, self.columns)

    def frame(self) -> "pandas.DataFrame":
        """One word a square, for those who want to compute with it."""
        import pandas

        index = [(row.kernel, row.case, *row.names) for row in self.rows]
        names = ["kernel", "case", *self.row_axes]
        words = [[legend.word(square) for square in row.squares] for row in self.rows]
        rows = pandas.MultiIndex.from_tuples(index, names=names) if index else None
        return pandas.DataFrame(words, rows, [head_text(head) for head in self.heads])

    def text(self, colour: bool = False) -> str:
        """For a terminal: letters, legend, reasons. `colour` adds the escapes that colour them."""
        return matrix_text.text(self, colour)

    def __repr__(self) -> str:
        size = f"Matrix of {len(self.rows)} rows, {len(self.heads)} columns"
        if not self.rows:
            return f"{size}: {self.results.nothing or 'no results'}"
        return f"{size}, {len(self.standings)} trials: {legend.tally(self.standings.values())}"

    def _repr_html_(self) -> str:
        return matrix_page.page(self)

    @staticmethod
    def _names(trial: Trial, axes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(getattr(trial, axis) for axis in axes)

    def _place(self, trial: Trial) -> tuple[Any, ...]:
        case = [(name, natural(value)) for name, value in trial.case.items()]
        names = [natural(name) for name in self._names(trial, self.row_axes)]
        return trial.kernel not in NAMED, natural(trial.kernel), case, names

    def _row(self, row: dict[tuple[str, ...], Standing], shared: dict[str, dict[str, Any]]) -> Row:
        trial = next(iter(row.values())).result.trial
        held = shared[trial.kernel]
        own = {plain(name): plain(value) for name, value in trial.case.items() if name not in held}
        full, shared_by_all = plain(trial.label), plain(replace(trial, case=held).label)
        squares = tuple(row.get(head) for head in self.heads)
        return Row(trial.kernel, full, own, shared_by_all, self._names(trial, self.row_axes), squares)


def _shared(trials: list[Trial]) -> dict[str, dict[str, Any]]:
    """Kernel -> the part of the case that is the same in all its trials; none if that would leave nothing."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:
        cases.setdefault(trial.kernel, []).append(trial.case)
    found = {}
    for kernel, of_kernel in cases.items():
        first, *others = of_kernel
        held = {
            name: value for name, value in first.items() if all(_same(each, name, value) for each in others)
        }
        found[kernel] = held if len(held) < min(map(len, of_kernel)) else {}
    return found


def _same(case: dict[str, Any], name: str, value: Any) -> bool:
    return name in case and repr(case[name]) == repr(value)
