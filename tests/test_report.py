import base64
import errno
import html
import html.parser
import io
import json
import os
import re
import shutil
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import example_results as examples
import nbformat
import pytest
from matplotlib.figure import Figure

from workbench import cli
from workbench.figures import latency
from workbench.matrix import Matrix
from workbench.pages.ceilings import ceilings
from workbench.pages.findings import Findings
from workbench.pages.sources import Sources
from workbench.pages.stacks import Difference, Pins
from workbench.pages.versions import Versions
from workbench.report import Report, render_all
from workbench.results import Results
from workbench.showing import pages
from workbench.showing.executed import NotebookDied, execute, refresh
from workbench.showing.plot import COLOURS, Plot
from workbench.showing.tables import STYLE
from workbench.showing.told import Told, told
from workbench.verdict import judge_named

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
PAGES = ("01_crash_matrix", "02_performance", "03_versions", "04_raises", "05_dies")
MADE = PAGES[:3]


class Reader(html.parser.HTMLParser):
    """What a page holds, as far as the tests ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def every(self, *tags: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag in tags]


def notebook(file: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_markdown_cell(f"# {file.stem}\n\nOne sentence.")]
    cells += [nbformat.v4.new_code_cell(source) for source in sources]
    cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), file)
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, list[tuple[int, int, str]]]:
    """The three pages of stored results, one that raises and one whose process dies."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "notebooks").mkdir()
    for name in MADE:
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", folder / "notebooks")
    notebook(
        folder / "notebooks" / "04_raises.ipynb", "x = 1", "raise ValueError('<script>alert(1)</script>')"
    )
    notebook(folder / "notebooks" / "05_dies.ipynb", "x = 1", "import os\nos._exit(0)", "print('never')")
    results, told = examples.written(folder / "results"), []
    given = {"results": [str(results)], "kernels": [], "modes": ["eager", "graph"]}
    report = render_all(folder / "notebooks", folder / "site", given, lambda *step: told.append(step))
    return report, told


@pytest.fixture(params=(*PAGES, "index"))
def page(request: pytest.FixtureRequest, made: tuple[Report, object]) -> str:
    return (made[0].folder / f"{request.param}.html").read_text()


@pytest.mark.slow
def test_a_failing_page_does_not_lose_the_others(made: tuple[Report, list[tuple[int, int, str]]]) -> None:
    report, told = made
    assert told == [(place, len(PAGES), name) for place, name in enumerate(PAGES)]
    assert [bool(page.failure) for page in report.pages] == [False, False, False, True, True]
    assert not report.complete
    assert "ValueError" in report.pages[3].failure
    assert "died" in report.pages[4].failure
    assert json.dumps(report.facts())
    assert "05_dies.html: NotebookDied" in str(report)


@pytest.mark.slow
def test_pages_that_failed_say_why(made: tuple[Report, object]) -> None:
    raised, died = ((made[0].folder / f"{name}.html").read_text() for name in PAGES[3:])
    assert "This page could not be made" in raised and "ValueError" in raised
    assert "the process of 05_dies.ipynb died" in died
    assert str(Path(sys.prefix)) not in raised + died


@pytest.mark.slow
def test_pages_load_nothing(page: str) -> None:
    """A link to a report of others loads nothing until it is followed, and does not say from where."""
    upstream = r'<a rel="noreferrer" href="https://[^"]+">|<a href="https://[^"]+" rel="noreferrer">'
    page = re.sub(upstream, "<a href='#x'>", page)
    read = Reader(page)
    assert not read.every("script", "iframe", "object", "embed", "video", "audio", "base", "form")
    assert all(each["src"].startswith("data:") for each in read.every("img"))
    assert all(each["href"].startswith("data:") for each in read.every("link"))
    assert all(re.match(r"#|\w+\.html$", each["href"]) for each in read.every("a"))
    assert not re.search(r"@import|url\(|https?://(?!.*</pre>)", page)
    assert "default-src 'none'" in read.every("meta")[2]["content"]


@pytest.mark.slow
def test_pages_can_be_read_by_all(page: str) -> None:
    read = Reader(page)
    assert read.every("html") == [{"lang": "en"}]
    assert re.search(r"<title>[^<]{5,}</title>", page)
    assert all(len(each.get("alt", "")) > 40 for each in read.every("img"))
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all("scope" in each for each in read.every("th"))
    assert len(read.every("table")) == len(read.every("caption"))


@pytest.mark.slow
def test_links_lead_somewhere(page: str, made: tuple[Report, object]) -> None:
    read = Reader(page)
    marks = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(marks) == len(set(marks))
    for link in (each["href"] for each in read.every("a") if each.get("rel") != "noreferrer"):
        assert link[1:] in marks if link.startswith("#") else (made[0].folder / link).is_file()


@pytest.mark.slow
def test_pages_are_fit_to_be_mailed(page: str) -> None:
    assert len(page.encode()) < pages.LARGEST
    assert page.count(STYLE) == ('<div class="wb">' in page)  # each output carries it, the page once
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)


@pytest.mark.slow
def test_pages_show_outputs_not_code(made: tuple[Report, object]) -> None:
    matrix, performance = ((made[0].folder / f"{name}.html").read_text() for name in MADE[:2])
    assert "crashed, flaky 2/5" in matrix
    assert "import Matrix" not in matrix
    assert performance.count("<figure>") >= 5  # what does not vary in size is a table
    assert "This is no verdict: with one process a side" in performance


@pytest.mark.slow
def test_index_says_what_how_old_and_what_failed(made: tuple[Report, object]) -> None:
    index = (made[0].folder / "index.html").read_text()
    assert "What speaks against an environment:" in index
    assert "example_attention: hung (hang_timeout), 1 of 23 trials on Example GPU A, in example 2" in index
    for name in PAGES:
        assert f'href="{name}.html"' in index
    assert "each square links to its reason" in index
    assert "Data of 2026-01-02, the newest" in index and "attempts" in index
    assert str(Path(sys.prefix)) not in index
    assert index.count("Could not be made:") == 2
    assert "<script>" not in index


@pytest.mark.slow
def test_a_page_is_of_this_interpreter_and_of_the_caller_s_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative folders are the caller's; a `python3` of somebody's own does not win."""
    _spoil_jupyter(tmp_path / "jupyter")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    shows = "import sys, pathlib\nprint(sys.executable, pathlib.Path.cwd().name, x, results)"
    notebook(tmp_path / "notebooks" / "shows.ipynb", "x = 1\nresults = []", shows)
    assert render_all("notebooks", "site", {"x": "a == b", "results": ["mine"], "unknown": 3}).complete
    text = Path("site/shows.html").read_text()
    assert f"{sys.executable} notebooks a == b ['{tmp_path}/mine']" in html.unescape(text)


@pytest.mark.slow
def test_a_cell_past_its_limit_is_a_failure(tmp_path: Path) -> None:
    file = notebook(tmp_path / "sleeps.ipynb", "x = 1", "import time\ntime.sleep(60)")
    with pytest.raises(Exception, match=r"(?i)time"):
        execute(file, {}, limit_s=2)


@pytest.mark.slow
def test_a_dead_process_is_not_a_page(tmp_path: Path) -> None:
    with pytest.raises(NotebookDied):
        execute(notebook(tmp_path / "dies.ipynb", "x = 1", "import os\nos.abort()"), {})


@pytest.mark.slow
def test_too_large_is_refused() -> None:
    cells = [nbformat.v4.new_markdown_cell("# Large\n\n" + "words " * (pages.LARGEST // 6))]
    with pytest.raises(ValueError, match="choose fewer"):
        pages.export(nbformat.v4.new_notebook(cells=cells), "Large")


@pytest.mark.slow
def test_pages_made_at_once_do_not_move_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative folders are the caller's, however many notebooks run in folders of their own."""
    monkeypatch.chdir(tmp_path)
    Path("notebooks").mkdir()
    for name in "abcd":
        notebook(
            Path("notebooks") / f"{name}.ipynb", "x = 1", "import pathlib\nprint(pathlib.Path.cwd().name)"
        )
    made = render_all("notebooks", "site")
    assert made.complete, str(made)
    assert all("notebooks" in (tmp_path / "site" / f"{name}.html").read_text() for name in "abcd")


@pytest.mark.parametrize(
    "shown",
    [Findings(Results()), Matrix(Results()), Versions(Results()), Pins(Results()), Difference(Results(), "a", "b"),
     judge_named(Results()), ceilings(Results()), latency(Results(), "none")],
    ids=lambda shown: type(shown).__name__,
)  # fmt: skip
def test_what_is_empty_says_how_to_fill_it(shown: Any) -> None:
    page = shown._repr_mimebundle_()[0]["text/html"] if isinstance(shown, Plot) else shown._repr_html_()
    assert "<code>workbench " in page
    assert "`" not in page


def test_no_notebooks_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no notebooks"):
        render_all(tmp_path, tmp_path / "site")


@pytest.mark.parametrize(
    ("days", "said"),
    [(None, "No data yet."), (("2026-01-01", "2026-01-02"), "Data of 2026-01-01 to 2026-01-02, the newest "),
     (("x", "<b>"), "Data of x to <b>.")],
)  # fmt: skip
def test_age_is_said(days: tuple[str, str] | None, said: str) -> None:
    assert pages.age(days).startswith(said)


def test_data_of_today_is_of_today() -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    assert pages.age((today, today)) == f"Data of {today}, the newest from today when this was made."


def test_a_folder_that_is_not_there_is_bad_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = ["--site", str(tmp_path / "site")]
    assert cli.main(["report", "--results", str(tmp_path / "nowhere"), *site]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert cli.main(["report", "--results", str(tmp_path), "--mode", "grpah", *site]) == 2
    assert "there are eager, graph" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def _spoil_jupyter(folder: Path) -> None:
    spec = folder / "kernels" / "python3"
    spec.mkdir(parents=True)
    wrong = {"argv": ["/bin/false", "{connection_file}"], "display_name": "wrong", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(wrong))


def test_the_index_answers_first_and_says_of_what_each_page_is() -> None:
    verdict = pages.Page(
        "09_verdict", "Verdict", "One.", "2 environments on G. Data of 2026-01-02.", "",
        ("HOLD: leave it", "candidate <script>x</script>"),
    )  # fmt: skip
    matrix = pages.Page(
        "01_crash_matrix", "Crash matrix", "Two.", "Data of 2026-01-03.", "", (), ("9 trials: 9 ok",)
    )
    index = pages.index([matrix, verdict])
    places = [
        index.index(text) for text in ("HOLD: leave it", "9 trials: 9 ok", "<h2>Pages</h2>", "Two.", "One.")
    ]
    assert places == sorted(places)
    assert "<script>" not in index and "Data of 2026-01-02" in index and "Data of 2026-01-03" in index


def test_outputs_tell_their_answer_and_the_days_of_their_data() -> None:
    shown = (Sources(examples.results()), Findings(examples.results()), judge_named(Results()))
    outputs = []
    for each in shown:
        data, metadata = json.loads(json.dumps(each._repr_mimebundle_()))
        outputs.append(nbformat.v4.new_output("display_data", data, metadata=metadata))
    said = told(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=outputs)]))
    assert said.days == ("2026-01-02", "2026-01-02") and "attempts" in said.source
    assert said.findings[0].startswith("66 trials") and said.answer[0] == "No verdict"
    assert told(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x")])) == Told()


def test_a_picture_in_a_page_has_the_same_pixels_in_fewer_bytes() -> None:
    from PIL import Image

    from workbench.showing.pictures import data_uri

    drawn = Plot("a title", "words " * 9, "", ("size", "us"), [("1", "2")], _a_figure).png()
    kind, _, data = data_uri(base64.b64encode(drawn).decode()).partition(";base64,")
    assert kind == "data:image/webp" and len(base64.b64decode(data)) < len(drawn)
    shown = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
    assert shown.tobytes() == Image.open(io.BytesIO(drawn)).convert("RGB").tobytes()
    assert data_uri("no picture<") == "data:image/png;base64,no picture&lt;"


def test_a_line_has_the_colour_that_its_legend_has_however_many_there_are() -> None:
    from PIL import Image

    def draw() -> Figure:
        figure = Figure(figsize=(8, 6))
        axes = figure.subplots()
        for turn, colour in enumerate(COLOURS):
            axes.plot([1, 2, 3], [3 * turn, turn, 2 * turn], color=colour, linewidth=1 + 9 * (turn < 2))
        return figure

    drawn = Plot("a title", "words", "", ("size", "us"), [("1", "2")], draw).png()
    counted = Image.open(io.BytesIO(drawn)).convert("RGB").getcolors(1 << 16)
    assert counted and {tuple(bytes.fromhex(each[1:])) for each in COLOURS} <= {each for _, each in counted}


def _a_figure() -> Figure:
    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([1, 2, 3], [3, 1, 2], label="a line")
    return figure


def test_a_place_where_no_page_can_be_written_is_said_before_any_is_made(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("workbench.report._page", lambda *_: pytest.fail("it was made"))
    (tmp_path / "site").write_text("")
    notebook(tmp_path / "01_a.ipynb", "x = 1")
    with pytest.raises(FileExistsError, match="site"):
        render_all(tmp_path, tmp_path / "site")


@pytest.mark.timeout(60)
def test_a_notebook_that_is_a_pipe_is_a_page_that_failed(tmp_path) -> None:
    (tmp_path / "notebooks").mkdir()
    os.mkfifo(tmp_path / "notebooks" / "01_pipe.ipynb")
    (page,) = render_all(tmp_path / "notebooks", tmp_path / "site").pages
    assert page.failure == "ValueError: 01_pipe.ipynb is no file"


def test_a_notebook_is_refreshed_whole_or_not_at_all(tmp_path, monkeypatch) -> None:
    file = notebook(tmp_path / "01_a.ipynb", "x = 1", "print(x)")
    before = file.read_bytes()

    def full(self: Path, data: bytes) -> None:
        with self.open("wb") as opened:
            opened.write(data[:9])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(OSError, match="No space left"):
            refresh(tmp_path)
    assert file.read_bytes() == before
    refresh(tmp_path)
    assert nbformat.read(file, 4).cells[2].outputs[0].text == "1\n"
