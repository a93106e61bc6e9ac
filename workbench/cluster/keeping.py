"""The user's files as they are when they are submitted, in the submission's folder: an edit reaches no waiting job."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.planning import beside

from .blocks import Block


def kept(block: Block, folder: Path) -> Block:
    """The block with its kernel files, cases and stacks copied to `folder`. Raises OSError."""
    options = dict(block.options)
    files = [Path(each) for each in options["kernel_file"]]
    options["kernel_file"] = [_kernel(file, folder / f"kernel-{n}") for n, file in enumerate(files)]
    if options["stacks"]:
        options["stacks"] = _copy(Path(options["stacks"]), folder)
    if options["cases"]:
        options["cases"] = _cases(block, folder / "cases.json")
    return replace(block, options=options)


def _kernel(file: Path, folder: Path) -> str:
    """With those beside it that it may import."""
    for each in beside(file):
        _copy(each, folder)
    return _copy(file, folder)


def _copy(file: Path, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy(file, folder))


def _cases(block: Block, file: Path) -> str:
    """Those of this block's kernels alone."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for each in block.trials:
        of_kernel = cases.setdefault(each["trial"]["kernel"], [])
        if each["trial"]["case"] not in of_kernel:
            of_kernel.append(each["trial"]["case"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(cases), encoding="utf-8")
    return str(file)
