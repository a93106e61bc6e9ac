"""Runs a notebook with papermill, in this very interpreter, and says so if its process died.

The rule: a notebook either ran to its end, or this raises. papermill alone marks the cells after a dead
process as completed.
"""

import ast
import copy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from nbclient.util import run_sync

from workbench.files import write

KERNEL = "python3"
IGNORED = "nbval-ignore-output"
KEPT_METADATA = ("tags",)


class NotebookDied(RuntimeError):
    """The notebook's process ended before its last cell did."""


class _ThisInterpreter(KernelSpecManager):
    """A `python3` in somebody's home folder may be any Python; ours is the one that runs this."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        argv = [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher"]
        argv += ["-f", "{connection_file}", "--log-level=ERROR"]
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


def execute(
    notebook: Path, parameters: Mapping[str, Any], limit_s: int | None = None
) -> nbformat.NotebookNode:
    """The notebook with its outputs, run in its own folder; `limit_s` is for one cell.

    Parameters it does not know are left out. Raises NotebookDied, papermill's errors for a cell that raised,
    nbclient's for one past the limit.
    """
    known = known_parameters(notebook)
    given = {name: value for name, value in parameters.items() if name in known}
    with _process() as manager:
        try:
            done = papermill.execute_notebook(
                str(notebook), None, given, kernel_name=KERNEL, language="python", progress_bar=False,
                km=manager, execution_timeout=limit_s, start_timeout=120,
                resources={"metadata": {"path": str(notebook.parent)}},  # cwd= would move all threads there
            )  # fmt: skip
        except DeadKernelError as problem:
            raise NotebookDied(f"the process of {notebook.name} died") from problem
    _prove_it_ran(done, notebook.name)
    return done


def known_parameters(notebook: Path) -> set[str]:
    """The names assigned in its cell tagged `parameters`; papermill's reader trips over a `==` in a text."""
    cells = [
        cell for cell in nbformat.read(notebook, 4).cells if "parameters" in cell.metadata.get("tags", [])
    ]
    assigned = [
        node for cell in cells for node in ast.parse(cell.source).body if isinstance(node, ast.Assign)
    ]
    return {target.id for node in assigned for target in node.targets if isinstance(target, ast.Name)}


@contextmanager
def _process() -> Iterator[AsyncKernelManager]:
    manager = AsyncKernelManager(kernel_name=KERNEL, kernel_spec_manager=_ThisInterpreter())
    try:
        yield manager
    finally:
        if manager.has_kernel:
            run_sync(manager.shutdown_kernel)(now=True)


def _prove_it_ran(notebook: nbformat.NotebookNode, name: str) -> None:
    for place, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            raise NotebookDied(f"cell {place} of {name} never ran: its process died, or was ended, before")


def refresh(notebooks: Path) -> list[Path]:
    """Run a folder's notebooks in place, and keep what is the same each time: text, no pictures or times."""
    files = sorted(notebooks.glob("*.ipynb"))
    for file in files:
        write(file, nbformat.writes(_stable(execute(file, {}))) + "\n")
    return files


def _stable(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    clean = copy.deepcopy(notebook)
    clean.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": KERNEL},
            "language_info": {"name": "python"},
        }
    )
    for cell in clean.cells:
        cell.metadata = {
            name: value for name, value in cell.metadata.items() if name in KEPT_METADATA and value
        }
        if cell.cell_type == "code":
            ignored = IGNORED in cell.metadata.get("tags", [])
            cell.outputs = [] if ignored else [_stable_output(each) for each in cell.outputs if _said(each)]
    return clean


def _said(output: nbformat.NotebookNode) -> bool:
    return not (output.output_type == "stream" and output.name == "stderr")


def _stable_output(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "data" in output:
        output.data.pop("image/png", None)  # compared as text; its bytes depend on the fonts at hand
        output.metadata = {}
    return output
