"""A picture that also says in words what it shows: text that can be compared, and an alternative text."""

import base64
import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.showing.tables import MOST_ROWS, block, left_out, prose, text_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from PIL import Image

DPI = 120
SHADES, GREYS = 5, 17  # of each colour on its way to white, and from black to white: 57 in all
STYLE = {
    "font.size": 11, "axes.titlesize": 11, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#8a94a0",
    "axes.grid": True, "grid.color": "#e3e7eb", "axes.axisbelow": True,
    "legend.frameon": False, "lines.linewidth": 1.8, "lines.markersize": 6, "errorbar.capsize": 3,
    "text.parse_math": False, "figure.dpi": DPI, "figure.facecolor": "white",
}  # fmt: skip
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#e69f00", "#56b4e9", "#332288", "#5a5a5a")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 4)))


@dataclass(frozen=True)
class Plot:
    """`rows` is the plotted data as text under `heads`; `draw` makes the picture; no rows are an empty state.

    `title` says what it is, `alt` what it shows, `note` what its marks mean.
    """

    title: str
    alt: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    draw: Callable[[], "Figure"]
    empty: str = ""

    def __repr__(self) -> str:
        if not self.rows:
            return f"{self.title}: nothing to show. {self.empty}"
        same = _same(self.rows)
        told = "; ".join(f"{self.heads[column]}: {self.rows[0][column]}" for column in same)
        heads, *rows = (
            [entry for column, entry in enumerate(row) if column not in same]
            for row in (self.heads, *self.rows[:MOST_ROWS])
        )
        shown = "\n".join(filter(None, (self.title, told, text_table(heads, rows))))
        more = left_out(self.rows)
        return shown + (f"\n{more}: `.frame()` has all of them" if more else "")

    def frame(self) -> "pandas.DataFrame":
        import pandas

        return pandas.DataFrame([list(row) for row in self.rows], columns=list(self.heads))

    def _repr_png_(self) -> bytes | None:
        return self.png() if self.rows else None

    def png(self) -> bytes:
        """The picture, without a date in it."""
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        file = io.BytesIO()
        with matplotlib.rc_context(STYLE), warnings.catch_warnings():  # type: ignore[arg-type]
            warnings.simplefilter("ignore")  # names may hold letters the font has not
            figure = self.draw()
            canvas = FigureCanvasAgg(figure)
            canvas.draw()
        # A palette makes it a fifth of the size: a page has many, and is sent by mail.
        drawn = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba()).convert("RGB")
        picture = drawn.quantize(palette=_palette(), dither=Image.Dither.NONE)
        picture.save(file, "PNG", optimize=True, dpi=(DPI, DPI))
        return file.getvalue()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        if not self.rows:
            return {
                "text/html": block(f"<p>{prose(repr(self))}</p>"),
                "text/plain": repr(self),
            }, {}
        picture = base64.b64encode(self.png()).decode()
        facts = {"alt": self.alt, "title": self.title, "note": self.note}
        return {"image/png": picture, "text/plain": repr(self)}, {"image/png": facts}


def _same(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Columns with the same entry in all rows: said once above them, for a page has thousands of rows."""
    columns = list(zip(*rows, strict=True))
    return tuple(place for place, column in enumerate(columns) if len(rows) > 1 and len({*column}) == 1)


def _palette() -> "Image.Image":
    """Each line's colour as it is in the legend, its shades, and greys; one chosen from a picture merges colours."""
    from PIL import Image

    whole = [tuple(bytes.fromhex(colour[1:])) for colour in COLOURS]
    shades = [
        round(255 - (255 - part) * shade / SHADES)
        for colour in whole
        for shade in range(1, SHADES + 1)
        for part in colour
    ]
    greys = [round(255 * grey / (GREYS - 1)) for grey in range(GREYS) for _ in "rgb"]
    palette = Image.new("P", (1, 1))
    palette.putpalette(shades + greys)
    return palette


def rounded(value: float | None) -> str:
    """Three significant digits, never with an exponent; `-` where there is none."""
    if value is None:
        return "-"
    digits = float(f"{value:.3g}")
    return (
        f"{digits:.0f}" if abs(digits) >= 100 else f"{digits:g}" if abs(digits) >= 1e-3 else f"{digits:.6f}"
    )
