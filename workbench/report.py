"""Notebooks as pages: each executed with papermill, and kept as one HTML file that loads nothing."""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import nbformat
from tqdm import tqdm

from workbench import copying
from workbench.files import make_folder, write
from workbench.showing import pages
from workbench.showing.executed import execute, known_parameters, refresh
from workbench.showing.pages import Page
from workbench.showing.told import Told, told

AT_ONCE = 2  # pages; each is a process of its own and may hold all results
PAGE_LIMIT_S = 900  # for a cell of a page made from stored results; measuring has no limit here
PLAN, RELEASES = "A plan; it shows no stored data.", "From the files of two releases; nothing was run."
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Report:
    """The pages that were made, and the index over them. Failed pages are there too, and say why."""

    folder: Path
    pages: tuple[Page, ...]

    @property
    def complete(self) -> bool:
        return not any(page.failure for page in self.pages)

    def facts(self) -> dict[str, Any]:
        return {
            "index": str(self.folder / "index.html"),
            "complete": self.complete,
            "pages": [asdict(page) for page in self.pages],
        }

    def __str__(self) -> str:
        lines = [f"{page.name}.html: {page.failure or page.title}" for page in self.pages]
        return "\n".join([*lines, f"{self.folder / 'index.html'}"])


def render_all(
    notebooks: Path | str,
    site: Path | str,
    parameters: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Report:
    """All notebooks of a folder, two at a time, and an index. In place of a page that fails stands its traceback.

    `progress` is called with how many are done, how many there are, and the next one's name. Without it a
    terminal gets a bar. Raises ValueError where there are no notebooks, OSError where no page can be written.
    """
    files, given = sorted(Path(notebooks).glob("*.ipynb")), _given(parameters or {})
    if not files:
        raise ValueError(f"no notebooks in {notebooks}")
    make_folder(Path(site))
    copying.copy(given.get("results", ()))
    made = list(_pages(files, Path(site), given, progress))
    write(Path(site) / "index.html", pages.index(made))
    return Report(Path(site), tuple(made))


def _pages(files: list[Path], site: Path, given: dict[str, Any], progress: Progress | None) -> Iterator[Page]:
    pool = ThreadPoolExecutor(
        1 if given.get("measure") else AT_ONCE
    )  # nothing computes while something is timed
    making = [pool.submit(_page, file, site, given) for file in files]
    try:
        for done, page in enumerate(tqdm(making, "pages", unit="page", disable=True if progress else None)):
            if progress:
                progress(done, len(files), files[done].stem)
            yield page.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _page(notebook: Path, site: Path, parameters: dict[str, Any]) -> Page:
    title, sentence, data, why, said = notebook.stem, "", "", "", Told()
    try:
        if not notebook.is_file():  # a pipe keeps whoever opens it
            raise ValueError(f"{notebook.name} is no file")
        title, sentence = pages.heading(nbformat.read(notebook, 4), notebook.stem)
        executed = execute(notebook, parameters, _limit_s(parameters))
        said = told(executed)
        data = _data(said, known_parameters(notebook))
        text = pages.export(executed, title)
    except Exception as problem:  # whatever a notebook raises, it is that page's trouble alone
        why = f"{type(problem).__name__}: {_last_words(problem)}"
        text = pages.failure(notebook.name, title, traceback.format_exc())
    write(site / f"{notebook.stem}.html", text)
    return Page(notebook.stem, title, sentence, data, why, said.answer, said.findings)


def _data(said: Told, known: set[str]) -> str:
    """What the page speaks of, and how old that is."""
    if "results" not in known:
        return PLAN if "measure" in known else RELEASES
    return " ".join(filter(None, (f"{said.source}." if said.source else "", pages.age(said.days))))


def _last_words(problem: Exception) -> str:
    """papermill puts a traceback into its message: what it ends with is what counts."""
    lines = [line for line in str(problem).strip().splitlines() if line.strip()]
    return pages.plain(pages.short(lines[-1]) if lines else "no message", 200)


def _given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """An empty list is the same as not given; folders are the caller's, not the notebook's, if relative."""
    given = {name: value for name, value in parameters.items() if value not in (None, [], ())}
    if "results" in given:
        given["results"] = [str(Path(folder).resolve()) for folder in given["results"]]
    return given


def _limit_s(parameters: Mapping[str, Any]) -> int | None:
    return None if parameters.get("measure") else PAGE_LIMIT_S


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run the notebooks in place, so that they show the results as they are."
    )
    parser.add_argument("--refresh", action="store_true", required=True)
    parser.add_argument("notebooks", nargs="?", default="notebooks")
    try:
        for file in refresh(Path(parser.parse_args().notebooks)):
            print(file)
    except OSError as problem:
        print(f"{problem.strerror}: {problem.filename}; the notebook is as it was", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
