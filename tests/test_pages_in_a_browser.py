"""All pages in a real browser: axe finds nothing serious, nothing is logged, nothing is asked of anyone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Opener, Page, browser

from workbench.report import Report, render_all
from workbench.showing.tables import block, table

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
NAMES = [*sorted(file.stem for file in NOTEBOOKS.glob("*.ipynb")), "index"]
TEMPLATE = Path(__file__).parent.parent / "workbench" / "showing" / "template"
AXE = "axe-playwright-python==0.1.8"  # for the axe.min.js in it (axe 4.12.1, MPL-2.0); nothing else of it is used
PHONE = 390  # pixels
pytestmark = [pytest.mark.slow, pytest.mark.network, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("axe")
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--target", folder, AXE]
    subprocess.run(install, check=True)
    return (folder / "axe_playwright_python" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def opener(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture(scope="module", params=["stored", "empty"])
def site(request: pytest.FixtureRequest, opener: Opener, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The pages of the committed results, and those of a folder in which nothing is."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "results").mkdir()
    given = {"results": [str(folder / "results")]} if request.param == "empty" else {}
    made = render_all(NOTEBOOKS, folder / "site", given, lambda *step: None)
    assert made.complete, str(made)
    return made


@pytest.fixture(params=NAMES)
def page(request: pytest.FixtureRequest, site: Report, opener: Opener) -> Page:
    page = opener.page()
    page.open((site.folder / f"{request.param}.html").as_uri())
    return page


def test_a_page_is_sound(page: Page, axe: str) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    page.evaluate(axe)
    found = page.evaluate(
        "axe.run().then(found => found.violations.map(({id, impact, nodes}) =>"
        " ({id, impact, nodes: nodes.slice(0, 3).map(node => node.html.slice(0, 200))})))"
    )
    page.settle()
    assert not [each for each in found if each["impact"] in ("serious", "critical")]
    assert not page.errors
    assert all(each.startswith(("file:", "data:")) for each in page.requests)
    assert sum(each.startswith("file:") for each in page.requests) == 1


def test_a_page_fits_a_phone(page: Page, tmp_path: Path) -> None:
    """Tables and figures scroll in themselves; the page does not."""
    page.picture(tmp_path / "phone.png", PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_a_table_that_scrolls_says_so_and_hears_the_keyboard(opener: Opener, tmp_path: Path) -> None:
    narrow, wide = (table(str(count), ["a head"] * count, [["an entry"] * count]) for count in (2, 20))
    file = tmp_path / "tables.html"
    file.write_text(f"<!doctype html><html lang=en><body>{block(narrow, wide)}</body></html>")
    page = opener.page()
    page.open(file.as_uri())
    page.picture(tmp_path / "tables.png", PHONE)
    hints = "getComputedStyle(each.querySelector('caption > span'), '::after').visibility"
    assert page.evaluate(f"[...document.querySelectorAll('.wide')].map(each => {hints})") == [
        "hidden",
        "visible",
    ]
    for _ in range(2):
        page.press("Tab", 9)
    page.press("ArrowRight", 39)
    page.wait("document.querySelectorAll('.wide')[1].scrollLeft > 0", 5)


def test_a_figure_that_scrolls_says_so(opener: Opener, tmp_path: Path) -> None:
    """The same figure, on a phone and where it has its room."""
    style = (TEMPLATE / "page.css").read_text()
    drawn = "data:image/svg+xml,<svg xmlns=%22http://www.w3.org/2000/svg%22 width=%22900%22/>"
    figure = f"<figure><div class=scroll><img alt='' src='{drawn}'></div></figure>"
    head = f"<meta name=viewport content='width=device-width'><style>{style}</style>"
    file = tmp_path / "figure.html"
    file.write_text(f"<!doctype html><html lang=en><head>{head}</head><body>{figure}</body></html>")
    page = opener.page()
    page.open(file.as_uri())
    said = []
    for width in (PHONE, 1200):
        page.picture(tmp_path / "figure.png", width)
        style_of = "getComputedStyle(document.querySelector('.scroll'), '::before')"
        said.append(page.evaluate(f"[{style_of}.visibility, parseFloat({style_of}.fontSize) > 10]"))
    assert said == [["visible", True], ["hidden", False]]


def test_what_is_wrong_would_be_seen(opener: Opener, axe: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<html><body><img src='http://127.0.0.1:9/x.png'><p style='color:#ccc;background:#fff'>pale</p>"
        "<script>console.error('logged'); setTimeout(() => nothing.there, 0)</script></body></html>"
    )
    page = opener.page()
    page.open(bad.as_uri())
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(found => found.violations.map(each => each.id))")
    page.settle()
    assert {"image-alt", "color-contrast", "html-has-lang"} <= set(found)
    assert any("logged" in each for each in page.errors) and any("nothing" in each for each in page.errors)
    assert "http://127.0.0.1:9/x.png" in page.requests
