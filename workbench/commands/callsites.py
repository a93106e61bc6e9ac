"""Show which calls of a project fit another version of the library, break, silently shift, or find no function."""

import argparse
import json
from collections import Counter
from typing import Any

from workbench.commands._shared import aside, wheels_in

EXAMPLES = """examples:
  workbench callsites sglang==0.5.11 --from flashinfer==0.6.8.post1 --to flashinfer==0.6.11.post1
  workbench callsites path/to/project --from flashinfer==0.6.11.post1 --to flashinfer==0.6.8.post1 --json
  workbench callsites moe.py --from triton_kernels@sglang-kernel==0.4.2.post1 --to triton_kernels@sglang-kernel==0.4.5
  workbench callsites project.whl --from old.whl --to new.whl --wheels wheels/
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "path",
        metavar="PATH",
        help="a file, a folder, a wheel, or a release such as sglang==0.5.11 (fetched, not installed)",
    )
    add("--from", dest="old", required=True, metavar="RELEASE", help="the version that it is written for")
    add("--to", dest="new", required=True, metavar="RELEASE", help="the version that it would meet")
    add(
        "--function",
        action="append",
        default=[],
        metavar="NAME",
        help="only calls of this function, by the end of its name (again for more)",
    )
    add("--wheels", metavar="DIR", help="look for wheels in this folder alone, without a network")
    add("--all", action="store_true", help="show the calls that are ok as well")
    add("--json", action="store_true", help="a list of all calls on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if a call breaks, shifts or misses its function that did not before, 3 if one is unknown, else 0."""
    from workbench import drift
    from workbench.drift.callsites import callsites
    from workbench.drift.compare import matches

    wheels = wheels_in(options.wheels)
    project = drift.open_release(options.path, wheels=wheels, say=aside)
    if not project.python_files():
        raise ValueError(f"there is no Python file in {options.path}")
    old, new = drift.open_pair(options.old, options.new, wheels, aside)
    found = callsites(project, old, new)
    wanted = options.function
    found = [each for each in found if not wanted or any(matches(each.function, name) for name in wanted)]
    if options.json:
        print(json.dumps([each.facts() for each in found], indent=1))
    else:
        _show(found, options.all, f"{options.path}: {old.tree.label} to {new.tree.label}")
    verdicts = {each.verdict for each in found if not each.was_so}
    return 1 if verdicts & {"breaks", "shifts", "missing"} else 3 if "unknown" in verdicts else 0


def _show(found: list[Any], every: bool, title: str) -> None:
    counts, before = (
        Counter(each.verdict for each in some) for some in (found, [each for each in found if each.was_so])
    )
    said = [
        f"{count} {verdict}" + (f" ({before[verdict]} already so)" if before[verdict] else "")
        for verdict, count in sorted(counts.items())
    ]
    print(f"{title}: {', '.join(said) or 'no use of it'}")
    for each in found:
        if every or each.verdict != "ok" or each.detail:
            print(f"{each.file}:{each.line}: {each.verdict:8} {each.function}: {each.detail}"[:500])
