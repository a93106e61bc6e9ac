"""A notebook in a real JupyterLab in a real browser: a few lines give a matrix, a comparison and plots."""

import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import example_results as examples
import nbformat
import pytest
from browser import browser

ROOT = Path(__file__).parent.parent
START_S, RUN_S = 90, 180
BOOK = "[...jupyterapp.shell.widgets('main')][0]"  # the notebook that is open
CELLS = (
    'from workbench import load\n\nresults = load("results")\nresults',
    "from workbench.matrix import Matrix\n\nMatrix(results)",
    f"from workbench.comparison import compare\n\ncompare(results, {examples.STACKS[0]!r}, {examples.STACKS[1]!r})",
    'from workbench.figures import latency\n\nlatency(results, "example_quantize")',
)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab that serves a folder with a notebook and results, to this machine alone."""
    folder = tmp_path / "work"
    folder.mkdir()
    examples.written(folder / "results", examples.few())
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    facts = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=facts), folder / "few_lines.ipynb")
    token, port = secrets.token_hex(16), _free_port()
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTER_PREFER_ENV_PATH": "1", "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}", "--LabApp.news_url=None", "--allow-root",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with subprocess.Popen(command, env=os.environ | own, stderr=subprocess.DEVNULL) as server:
        try:
            _answers(f"http://127.0.0.1:{port}/api/status?token={token}", server)
            yield f"http://127.0.0.1:{port}/lab/tree/few_lines.ipynb?token={token}"
        finally:
            server.terminate()
            server.wait(30)


def test_a_few_lines_show_matrix_comparison_and_plot(lab: str, tmp_path: Path) -> None:
    with browser(tmp_path / "browser") as opener:
        page = opener.page()
        page.open(lab)
        page.wait("!!window.jupyterapp && !!document.querySelector('.jp-Notebook .jp-CodeCell')", START_S)
        page.wait(f"{BOOK}.sessionContext.session?.kernel?.status === 'idle'", START_S)
        page.evaluate(f"jupyterapp.shell.activateById({BOOK}.id)")
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells').then(() => true)")
        page.wait(f"{_outputs()}.every(each => each.length)", RUN_S)
        kinds = json.loads(page.evaluate(f"JSON.stringify({_outputs()})"))
        page.settle()
        page.picture(tmp_path / "lab.png")
        shown = page.evaluate("document.querySelector('.jp-Notebook').innerText")
        drawn = page.evaluate(
            "document.querySelectorAll('.jp-OutputArea img[src^=\"data:image/png\"]').length"
        )
    assert kinds[0] == [["text/plain"]]
    assert ["text/html" in cell[0] for cell in kinds[1:3]] == [True, True]
    assert "image/png" in kinds[3][0] and drawn == 1
    assert "28 attempts at 6 trials" in shown and "Trials by kernel and outcome" in shown
    assert not page.errors
    assert all(each.startswith(("http://127.0.0.1:", "data:", "blob:")) for each in page.requests)


def _outputs() -> str:
    """A script: the MIME types of each output of each cell; an error has none of ours."""
    return (
        f"{BOOK}.content.widgets.map(cell => (cell.model.sharedModel.getOutputs?.() ?? [])"
        ".map(output => Object.keys(output.data ?? {[output.output_type]: 1})))"
    )


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return int(tried.getsockname()[1])


def _answers(address: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise AssertionError(f"JupyterLab did not start within {START_S} s")
