"""Put all that a GPU node without a network needs for a plan into one file."""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from workbench.commands import _plan
from workbench.commands import run as command
from workbench.commands._shared import FINE, TOO_LITTLE, aside, folder, positive, python_version, wheels_in

USAGE = "workbench bundle (--plan FILE | options of `workbench run`) --output FILE [OPTION ...]"
EXAMPLES = """examples:
  workbench bundle --kernel fp4_quantize --environment flashinfer==0.6.11.post1 --for-python 3.12 --output plan.zip
  workbench bundle --kernel cutlass_moe --environment flashinfer==0.6.8.post1 --environment flashinfer==0.6.11.post1 \\
      --prebuilt modules/ --arch 9.0a --limit-mb 64 --output plan.zip
  workbench bundle --plan plan.json --output plan.zip         # {"kernel": ["fp4_quantize"], "environment": [...]}
  python3 plan.zip --results out             # on the node: nothing else is needed there but torch and triton
  workbench run --bundle plan.zip            # the same, where there is a checkout

all options of `workbench run` are options of the plan, and may be given anew on the node; --wheels is a folder to
look into before the index. A bundle is a program: run those that you or yours have made.
3: it does not fit into --limit-mb; what does not is listed, and nothing is written
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    command.arguments(parser)
    add = parser.add_argument
    add("--output", required=True, metavar="FILE", help="such as plan.zip")
    add("--limit-mb", type=positive, metavar="N", help="the most it may have, in MiB")
    add(
        "--for-python",
        type=python_version,
        metavar="VERSION",
        help="the node's, such as 3.12 (default: the Python this runs on)",
    )
    add("--arch", help="only modules for it, such as 9.0a (default: all of --prebuilt)")


def run(options: argparse.Namespace) -> int:
    """0 if it is written, 3 if it would be larger than allowed."""
    from workbench import bundling
    from workbench.environments import BuildError

    plan = _asked(options)
    limit = None if options.limit_mb is None else int(options.limit_mb * 2**20)
    python = options.for_python or ".".join(map(str, sys.version_info[:2]))
    try:
        with tempfile.TemporaryDirectory(prefix="bundling-") as gathered:
            items, carried = _collect(options, plan, python, Path(gathered))
            written = bundling.write(items, carried, python, Path(options.output), limit)
    except BuildError as problem:
        raise ValueError(problem) from problem
    except bundling.TooLarge as problem:
        return _say_too_large(problem, options)
    _say(written, options.json)
    return FINE


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """What is said of it, checked as `workbench run` would."""
    from workbench import bundling

    defaults = command.defaults_of_run()
    vars(options).update(vars(_plan.planned(options, defaults)))
    if options.bundle:
        raise ValueError("--bundle is for `workbench run`; a bundle is not made of another")
    if options.torch == "isolated":
        raise ValueError("a torch of its own is gigabytes and is not carried; leave out --torch isolated")
    command._options(options)
    return {
        name: value
        for name, value in vars(options).items()
        if name in defaults and name not in bundling.MACHINES and value != defaults[name]
    }


def _collect(options: argparse.Namespace, plan: dict[str, Any], python: str, gathered: Path) -> Any:
    from workbench import bundling, environments

    kernels, chosen = command._kernels(options), command._environments(options)
    names = [
        each.name for each in kernels if each.file.parent == Path(command.__file__).parents[1] / "kernels"
    ]
    plan = {**plan, "kernel": names, "environment": options.environment or ["here"]}
    sources = environments.Sources(
        environments.FOLDER.absolute(),
        wheels_in(options.wheels),
        Path(sys.executable),
        python,
        say=aside,
    )
    prebuilt = folder(options.prebuilt, "--prebuilt")
    return bundling.collect(plan, chosen, sources, prebuilt, options.arch, gathered)


def _say(written: Any, as_json: bool) -> None:
    if as_json:
        facts = {
            "file": str(written.file),
            "bytes": written.bytes,
            "sha256": written.sha256,
            "files": written.rows,
        }
        print(json.dumps(facts, indent=1))
        return
    print("\n".join(_lines(written.rows)))
    print(f"{written.file}: {written.bytes / 2**20:.1f} MiB, sha256 {written.sha256}")


def _say_too_large(problem: Any, options: argparse.Namespace) -> int:
    if options.json:
        print(
            json.dumps(
                {"bytes": problem.bytes, "limit_mb": options.limit_mb, "left_out": problem.left_out}, indent=1
            )
        )
        return TOO_LITTLE
    print("\n".join(_lines(problem.left_out)))
    aside(f"{problem}, more than {options.limit_mb:g}: nothing is written; the above does not fit")
    return TOO_LITTLE


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """The largest first; the workbench's own files in one line."""
    from workbench.untrusted import MESSAGE, plain

    ours = [row for row in rows if row["what"] in ("workbench", "start")]
    single = [row for row in rows if row not in ours]
    sizes: dict[str, int] = defaultdict(int)
    for row in single:
        sizes[f"{row['what']}: {row['path']}"] += row["carried_bytes"]
    if ours:
        sizes[f"workbench: {len(ours)} files"] = sum(row["carried_bytes"] for row in ours)
    ordered = sorted(sizes.items(), key=lambda each: -each[1])
    return [plain(f"{size / 2**20:8.2f} MiB  {text}", MESSAGE) for text, size in ordered]
