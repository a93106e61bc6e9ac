"""Show what changed for callers between two versions, without installing either."""

import argparse
import json
from pathlib import Path
from typing import Any

from workbench.commands._shared import aside, wheels_in

EXAMPLES = """examples:
  workbench drift --from flashinfer==0.6.8.post1 --to flashinfer==0.6.11.post1
  workbench drift --from flashinfer==0.6.8.post1 --to flashinfer==0.7.4 --function fp4_quantize --json
  workbench drift --from triton_kernels@sglang-kernel==0.4.2.post1 --to triton_kernels@sglang-kernel==0.4.2.post2
  workbench drift --from flashinfer==0.6.8.post1 --to flashinfer==0.6.11.post1 --save results/drift
  workbench drift --from old.whl --to new.whl --function decode.BatchDecodeWithPagedKVCacheWrapper.plan
"""
QUIET = ("kernel_source_identical",)


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--from",
        dest="old",
        required=True,
        metavar="RELEASE",
        help="an exact version, a wheel, or an unpacked one",
    )
    add("--to", dest="new", required=True, metavar="RELEASE")
    add(
        "--function",
        action="append",
        default=[],
        metavar="NAME",
        help="only this function, by the end of its name (again for more)",
    )
    add("--wheels", metavar="DIR", help="look for wheels in this folder alone, without a network")
    add("--json", action="store_true", help="a list of changes on stdout")
    add("--save", metavar="DIR", help="keep that list there, for the page Drift (it reads results/drift)")


def run(options: argparse.Namespace) -> int:
    """1 if anything differs that a caller can meet, else 0."""
    from workbench import drift

    wheels = wheels_in(options.wheels)
    old, new = drift.open_pair(options.old, options.new, wheels, aside)
    rows = drift.drift(old, new, options.function)
    if options.save:
        aside(f"stored as {_save(rows, Path(options.save), old.tree, new.tree)}")
    if options.json:
        print(json.dumps([each.facts() for each in rows], indent=1))
    else:
        _show(rows, f"{old.tree.label} to {new.tree.label}")
    return int(any(each.change not in QUIET for each in rows))


def _save(rows: list[Any], folder: Path, *trees: Any) -> Path:
    from workbench import files
    from workbench.environments.requirement import CARRIED, COMPONENT, SHOWN
    from workbench.pages import drifts

    shown = {**SHOWN, CARRIED: COMPONENT}
    before, after = (f"{shown.get(tree.name, tree.name)} {tree.version}" for tree in trees)
    file = drifts.file_of(folder, before, after)
    files.write(file, json.dumps([each.facts() for each in rows], indent=1) + "\n")
    return file


def _show(rows: list[Any], title: str) -> None:
    print(f"{title}: {len(rows)} changes" if rows else f"{title}: no difference")
    function = None
    for each in rows:
        if each.function != function:
            print(each.function)
            function = each.function
        index = [f"@{at}" for at in (each.index_from, each.index_to) if at is not None]
        print(f"  {each.change:28} {each.parameter}{' -> '.join(index)}  {each.detail}"[:400])
