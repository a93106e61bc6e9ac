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

DPI = 120
PALETTE = 64
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
        shown = text_table(self.heads, self.rows[:MOST_ROWS])
        more = left_out(self.rows)
        return f"{self.title}\n{shown}" + (f"\n{more}: `.frame()` has all of them" if more else "")

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
        # A palette makes it a quarter of the size: a page has many, and is sent by mail.
        picture = (
            Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
            .convert("RGB")
            .quantize(PALETTE, dither=Image.Dither.NONE)
        )
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


def rounded(value: float | None) -> str:
    """Three significant digits, never with an exponent; `-` where there is none."""
    if value is None:
        return "-"
    digits = float(f"{value:.3g}")
    return (
        f"{digits:.0f}" if abs(digits) >= 100 else f"{digits:g}" if abs(digits) >= 1e-3 else f"{digits:.6f}"
    )
