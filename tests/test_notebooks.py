import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import example_results as examples
import nbformat
import pytest

from workbench.pages.drifts import file_of
from workbench.showing.executed import refresh
from workbench.store import load

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
FILES = sorted(NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_notebooks_are_thin(file: Path) -> None:
    cells = nbformat.read(file, 4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    lines = [line for cell in code for line in cell.source.splitlines() if line.strip()]
    assert len(lines) <= 25
    assert not re.search(r"\b(def|class|lambda)\b", "\n".join(lines))
    assert re.fullmatch(r"# [A-Z].*\n\n[^#\n]+\.", cells[0].source)
    assert code[0].metadata["tags"] == ["parameters"]
    assert all(
        re.match(r"\w+ = .*  # (str|int|bool|list\[str\]): ", line) for line in code[0].source.splitlines()
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_committed_notebooks_hold_only_what_is_stable(file: Path) -> None:
    notebook = nbformat.read(file, 4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        for output in cell.get("outputs", []):
            assert output.output_type != "error" and output.get("name") != "stderr"
            assert "image/png" not in output.get("data", {})
            assert "text/plain" in output.get("data", {}) or output.output_type == "stream"
    shown = [cell for cell in notebook.cells if cell.get("outputs")]
    assert shown or file.stem == "00_measure"  # that one speaks of the machine it runs on


@pytest.mark.slow
def test_pages_go_stale_with_their_results(tmp_path: Path) -> None:
    """nbval passes on pages that show the results as they are, and fails in each page once one line changes.

    All pages are one notebook here: a process of its own for each takes most of the time.
    """
    fresh, stale = tmp_path / "fresh", tmp_path / "stale"
    (fresh / "notebooks").mkdir(parents=True)
    pages, cells = _all_in_one(FILES[1:])
    nbformat.write(nbformat.v4.new_notebook(cells=cells), fresh / "notebooks" / "all.ipynb")
    examples.written(fresh / "results" / "h200-by-turns", examples.few())  # one page reads this set alone
    drift = file_of(
        "results/drift", "flashinfer 0.6.8.post1", "flashinfer 0.6.11.post1"
    )  # and one this alone
    (fresh / drift).parent.mkdir()
    (fresh / drift).write_text('[{"function": "fp4_quantize", "change": "parameter_inserted"}]')
    refresh(fresh / "notebooks")
    shutil.copytree(fresh, stale)
    (stale / drift).write_text("[]")
    _change_one_line(stale / "results" / "h200-by-turns" / "example.jsonl")
    done = _nbval(tmp_path, "fresh/notebooks", "stale/notebooks")
    assert done.returncode == 1, done.stdout[-3000:]
    failed = re.findall(r"FAILED (\w+)/notebooks/all\.ipynb::Cell (\d+)", done.stdout)
    assert {folder for folder, _ in failed} == {"stale"}, done.stdout[-3000:]
    assert {pages[int(cell)] for _, cell in failed} == {file.stem for file in FILES[1:]}


def _all_in_one(files: list[Path]) -> tuple[list[str], list[nbformat.NotebookNode]]:
    """The page that each code cell is of, and the cells; a page begins with its parameters.

    Of all kernels, for the examples have their own.
    """
    pages, cells = [], []
    for file in files:
        for cell in nbformat.read(file, 4).cells:
            if cell.cell_type == "code":
                pages.append(file.stem)
                source = re.sub(r"^kernels = .*", "kernels = []", cell.source, flags=re.MULTILINE)
                cells.append(nbformat.v4.new_code_cell(source))
    return pages, cells


@pytest.mark.slow
def test_refreshing_twice_changes_nothing(tmp_path: Path) -> None:
    source = (
        "import sys\nfrom workbench.figures import latency\nfrom workbench.store import load\n"
        "print('to stderr', file=sys.stderr)\nlatency(load('results'), 'example_quantize')"
    )
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / "one.ipynb"
    )
    examples.written(tmp_path / "results", examples.few())
    once, twice = (refresh(tmp_path)[0].read_bytes() for _ in range(2))
    assert once == twice
    assert b"example_quantize: time on the device" in once
    assert b"image/png" not in once and b"to stderr\\n" not in once


def test_the_measuring_page_starts_as_the_makefile_does() -> None:
    from workbench import environments

    makefile = (NOTEBOOKS.parent / "Makefile").read_text()
    versions, others = (
        re.search(rf"^{name} := (.*)", makefile, re.M)[1] for name in ("VERSIONS", "TRITON_KERNELS")
    )
    wanted = [f"flashinfer=={version} {others}" for version in versions.split()]
    held: dict[str, object] = {}
    exec(nbformat.read(FILES[0], 4).cells[1].source, held)
    assert held["environments"] == wanted
    assert all(environments.parse(spec) for spec in wanted)


def _nbval(folder: Path, *notebooks: str) -> subprocess.CompletedProcess[str]:
    options = [
        "--nbval",
        "--nbval-current-env",
        "--nbval-cell-timeout=120",
        "-p",
        "no:cacheprovider",
        "-rf",
        "-q",
    ]
    command = [sys.executable, "-m", "pytest", "-p", "nbval.plugin", *options, *notebooks]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others cost seconds of start
    return subprocess.run(
        command, cwd=folder, env=alone, capture_output=True, text=True, timeout=250, check=False
    )


def _change_one_line(file: Path) -> None:
    lines = file.read_text().splitlines()
    first = json.loads(lines[0])
    first |= {"outcome": "wrong", "reason": "wrong_numbers", "time": {}}
    first["found"]["signature"] = first["found"]["signature"].replace("input", "x")
    file.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    assert not load(file.parent).problems
