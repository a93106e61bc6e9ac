"""What stands around a notebook's outputs: the page's frame, the index, and the page of one that failed."""

import html
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import nbformat

from workbench.showing.pictures import data_uri
from workbench.showing.tables import STYLE, prose
from workbench.untrusted import escaped, escaped_lines, plain

TEMPLATE = Path(__file__).parent / "template"
LARGEST = 3_000_000  # bytes: pages are sent by mail, which takes a third more
TRACEBACK = 12_000  # characters


@dataclass(frozen=True)
class Page:
    """A page as the index shows it. `data` says of what it is and how old; `failure` is empty if all went well."""

    name: str
    title: str
    sentence: str
    data: str
    failure: str = ""
    answer: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()


def heading(notebook: nbformat.NotebookNode, name: str) -> tuple[str, str]:
    """Its title and the sentence below, both from the first Markdown cell."""
    first = next((cell.source for cell in notebook.cells if cell.cell_type == "markdown"), "")
    lines = [line.strip() for line in first.splitlines() if line.strip()]
    title = next((line.lstrip("# ") for line in lines if line.startswith("# ")), name)
    return title, next((line for line in lines if not line.startswith("#")), "").replace("`", "")


def export(notebook: nbformat.NotebookNode, title: str) -> str:
    """The page of an executed notebook. Raises ValueError if it is too large to be sent."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        template_name=TEMPLATE.name, extra_template_basedirs=[str(TEMPLATE.parent)], exclude_input=True,
        exclude_input_prompt=True, exclude_output_prompt=True, exclude_anchor_links=True,
    )  # fmt: skip
    exporter.register_filter("data_uri", data_uri)
    frame = {"title": title, "css": _css(), "made": made()}
    whole, _ = exporter.from_notebook_node(notebook, {"page": frame})
    before, *after = whole.split(STYLE)  # each output has it, for JupyterLab; a page needs it once
    page = before + STYLE * bool(after) + "".join(after)
    if len(page.encode()) > LARGEST:
        raise ValueError(
            f"the page has {len(page.encode())} bytes: choose fewer kernels, environments or modes"
        )
    return page


def failure(name: str, title: str, said: str) -> str:
    """The page that stands for one that could not be made; `said` is the traceback."""
    body = (
        f'<h1>{escaped(title)}</h1><p class="failed"><strong>This page could not be made.</strong> '
        f"Its notebook {escaped(name)} ended with the words below; the other pages are not affected.</p>"
        f'<pre class="said" tabindex="0">{escaped_lines(short(said[-TRACEBACK:]), TRACEBACK)}</pre>'
    )
    return _framed(title, body, '<nav aria-label="Pages"><a href="index.html">All pages</a></nav>')


def short(said: str) -> str:
    """Files by their names alone: pages leave the machine, and folders name people."""
    return re.sub(r'(?:/[^/\s"\']+)+/(?=[^/\s"\']+)', "", said)


def index(pages: list[Page]) -> str:
    """What the pages answer, what they found, and a line for each: its title, what it speaks of, how old that is."""
    answers = "".join(_told(page, page.answer) for page in pages if page.answer)
    findings = "".join(_told(page, page.findings) for page in pages if page.findings)
    body = (
        "<h1>FlashInfer workbench</h1>"
        "<p>Kernels across FlashInfer versions and GPUs: what runs, what breaks, "
        f'how fast.</p>{answers}{findings}<h2>Pages</h2><ul class="pages">{"".join(map(_entry, pages))}</ul>'
    )
    return _framed("FlashInfer workbench", body, "")


def _told(page: Page, lines: tuple[str, ...]) -> str:
    first, *others = (prose(line) for line in lines)
    items = "".join(f"<li>{line}</li>" for line in others)
    return (
        f'<section class="told"><h2><a href="{escaped(page.name)}.html">{escaped(page.title)}</a></h2>'
        f"<p><strong>{first}</strong></p><ul>{items}</ul></section>"
    )


def _entry(page: Page) -> str:
    about = (
        f"<strong>Could not be made:</strong> {escaped(page.failure, 300)}"
        if page.failure
        else escaped(page.data, 300)
    )
    kind = ' class="failed"' if page.failure else ""
    return (
        f'<li{kind}><a href="{escaped(page.name)}.html">{escaped(page.title)}</a>'
        f'<span>{escaped(page.sentence, 300)}</span><span class="age">{about}</span></li>'
    )


def _framed(title: str, body: str, nav: str) -> str:
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><link rel="icon" href="data:,">'
        f"<title>{escaped(title)}</title><style>{_css()}</style></head><body>{nav}<main>{body}</main>"
        f"<footer><p>{html.escape(made())}</p></footer></body></html>\n"
    )


def made() -> str:
    return f"Made on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC by flashinfer-workbench."


def age(days: tuple[str, str] | None) -> str:
    """`Data of 2026-11-28 to 2026-11-30, the newest 3 days old when this was made.`"""
    if days is None:
        return "No data yet."
    span = days[0] if days[0] == days[1] else f"{days[0]} to {days[1]}"
    try:
        old = (datetime.now(UTC).date() - date.fromisoformat(days[1])).days
    except ValueError:
        return f"Data of {plain(span, 40)}."
    how_old = "from today" if old == 0 else f"{old} day{'s' * (old != 1)} old"
    return f"Data of {span}, the newest {how_old} when this was made."


def _css() -> str:
    return (TEMPLATE / "page.css").read_text()
