"""Build FlashInfer's modules ahead, without a GPU, for a machine that compiles nothing."""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.commands import run as command
from workbench.commands._shared import FINE, TOO_LITTLE, UNUSABLE, aside, stack_options, wheels_in

EXAMPLES = """examples:
  workbench prebuild --environment flashinfer==0.6.8.post1 --kernel fp4_quantize --arch 9.0a --output modules/
  workbench prebuild --environment flashinfer==0.6.18.post1 --kernel cutlass_moe --arch 9.0a --only bf16 --output m/
  workbench prebuild --environment flashinfer==0.6.8.post1 --kernel trtllm_attention --arch 9.0a --output m/ --dry-run
  workbench run --prebuilt modules/ ...               # on the GPU node

nvcc is needed, and no GPU. What is made is kept in .building under --output: stopped at any moment, the same
command goes on where it was. 0: all modules are there; 2: one could not be made; 3: none is needed, or it was stopped.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--environment",
        action="append",
        required=True,
        metavar="SPEC",
        help="such as flashinfer==0.6.18.post1",
    )
    stack_options(add)
    add("--python", metavar="PATH", help="the interpreter whose torch is inherited; a CPU build serves")
    add("--wheels", metavar="DIR", help="build environments from this folder of wheels, without a network")
    add(
        "--kernel",
        action="append",
        default=[],
        help="whose cases need the modules (again for more; default: all)",
    )
    add("--kernel-file", action="append", default=[], metavar="PATH", help="a kernel file of your own")
    add("--cases", metavar="FILE", help="shapes of your own, as `workbench run` takes them")
    add("--arch", required=True, help="as nvcc writes it: 9.0a, 10.0a, 10.3a, 12.0f, 12.1a")
    add(
        "--only",
        metavar="TYPES",
        help="leave out templates of other number types, and mark it: bf16, fp16, fp8; bf16-fp4 for mxfp4 weights "
        "times bf16; several with commas",
    )
    add(
        "--leave-out",
        default="",
        metavar="TEXT",
        help="leave out sources with this in their names, and mark it; several with commas",
    )
    add("--jobs", type=int, metavar="N", help="compilers at once (default: what cores and free memory allow)")
    add("--nvcc", metavar="PATH", help="default: the one on the PATH")
    add("--output", required=True, metavar="DIR", help="for the modules; `run --prebuilt DIR` reads it")
    add("--dry-run", action="store_true", help="say which modules are needed, and stop")
    add("--json", action="store_true", help="one object a module on stdout")


def run(options: argparse.Namespace) -> int:
    """0 if all modules are there, 2 if one could not be made, 3 if no case needs one."""
    from workbench import gpus
    from workbench.environments import BuildError
    from workbench.prebuilding import Trim

    Trim(options.only, options.leave_out)  # what is misspelt is said before anything is built
    if not re.fullmatch(r"\d{1,2}\.\d[af]?", options.arch):
        raise ValueError(f"--arch {options.arch}: write it like 9.0a, 10.0a or 12.0f")
    gpus.given(options.arch, "--arch")
    if options.jobs is not None and not 1 <= options.jobs <= 1000:
        raise ValueError(f"--jobs {options.jobs}: a number from 1 to 1000")
    try:
        found = list(_all(options))
    except BuildError as problem:
        raise ValueError(problem) from problem
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
    if any(each.state in ("failed", "not made") for each in found):
        return UNUSABLE
    return FINE if found else TOO_LITTLE


def parsed(*words: str) -> argparse.Namespace:
    """The options of `workbench prebuild`, for those who call it from Python."""
    parser = argparse.ArgumentParser()
    arguments(parser)
    return parser.parse_args(words)


def _all(options: argparse.Namespace) -> Iterator[Any]:
    from workbench import environments, prebuilding

    toolkit = prebuilding.find(options.nvcc)
    kernels, wheels = command._kernels(options), wheels_in(options.wheels)
    for environment in command._environments(options):
        built = environments.build(environment, wheels=wheels, progress=aside)
        if "flashinfer-python" not in built.packages:
            raise ValueError(f"{environment.name} has no FlashInfer")
        for kernel in kernels:
            for found in made(built, kernel, toolkit, options):
                if not options.json:
                    print(line(found))
                yield found


def made(
    built: Any, kernel: Any, toolkit: Any, options: argparse.Namespace, most_objects: int | None = None
) -> Iterator[Any]:
    """What became of each module that the kernel needs in this environment; those of more objects are left out.

    Raises BuildError, ValueError.
    """
    from workbench import prebuilding

    workspace = Path(options.output).absolute() / ".building"
    asked = prebuilding.ask(built, kernel, options.arch, toolkit.home, workspace, tuner=True)
    _say_without(kernel.name, asked.without)
    for recipe in asked.recipes:
        if most_objects is not None and len(recipe.objects) > most_objects:
            aside(f"{recipe.name} is left out: its {len(recipe.objects)} objects take hours")
        else:
            yield _one(recipe, built, toolkit, workspace, options)


def _one(recipe: Any, built: Any, toolkit: Any, workspace: Path, options: argparse.Namespace) -> Any:
    from workbench import prebuilding
    from workbench.prebuilding.headers import Headers
    from workbench.prebuilding.telling import Telling

    trim = prebuilding.Trim(options.only, options.leave_out)
    wheels, told = wheels_in(options.wheels), Telling(recipe.name, quiet=options.json)
    if options.dry_run:
        return prebuilding.planned(recipe, built, trim)
    headers = Headers(workspace, toolkit, built.python, wheels, aside)
    try:
        return prebuilding.make(
            recipe, built, toolkit, headers, arch=options.arch, trim=trim,
            output=workspace.parent, at_once=prebuilding.jobs(options.jobs), told=told,
        )  # fmt: skip
    except KeyboardInterrupt:
        aside(f"stopped in {recipe.name}: what is made is kept, and the same command goes on from there")
        raise
    finally:
        told.close()


def line(made: Any) -> str:
    """A module in one line."""
    from workbench.untrusted import MESSAGE, plain

    marked = f", {made.trimmed}" if made.trimmed else ""
    size = f", {made.packed_bytes / 1e6:.1f} MB packed" if made.packed_bytes else ""
    took = f", {made.seconds:.0f} s" if made.seconds else ""
    why = f": {made.why}" if made.why else ""
    text = f"{made.module} of {made.environment}: {made.state}{why}, {made.objects} of {made.of} objects"
    return plain(f"{text}{marked}{size}{took}", MESSAGE)


def _say_without(kernel: str, without: list[Any]) -> None:
    for why, count in Counter(each.why for each in without).items():
        aside(f"{count} cases of {kernel} need no module: {why}")
