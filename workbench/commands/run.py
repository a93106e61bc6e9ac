"""Run the trials that the results lack."""

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.commands import _plan
from workbench.commands._shared import FINE, TOO_LITTLE, aside, exit_code, folder, stack_options, wheels_in

USAGE = "workbench run [--kernel NAME] --environment 'SPEC' [--environment 'SPEC'] [OPTION ...]"
EXAMPLES = """examples:
  workbench run --kernel fp4_quantize --environment flashinfer==0.6.8.post1 --environment flashinfer==0.6.11.post1
  workbench run --kernel mxfp4_swiglu --environment 'flashinfer==0.6.8.post1 triton_kernels@sglang-kernel==0.4.2.post1'
  workbench run --kernel-file my_kernel.py --python /opt/container/bin/python --mode eager
  workbench run --environment flashinfer==0.6.8.post1 --wheels wheels/       # no network: a folder of wheels
  workbench run --kernel fp4_quantize --environment flashinfer==0.6.8.post1 --dry-run
  workbench run --kernel trtllm_attention --environment flashinfer==0.6.11.post1 --mode fenced --mode fenced_start
  workbench run --kernel mxfp4_swiglu --sm 90 --sm 120 --environment 'triton==3.6.0 triton_kernels@sglang-kernel==0.4.5'
  workbench run --kernel mxfp4_swiglu --environment sglang==0.5.11 --environment sglang==0.5.12
  workbench run --kernel mxfp4_swiglu --environment candidate --stacks stacks.toml     # a stack of your own
  workbench run --kernel fp4_quantize --environment sglang --as-of 2026-05-14
  workbench run --kernel mxfp4_swiglu --environment sglang==0.5.11 --mode sanitized+initcheck
  workbench run --plan plan.json                     # {"kernel": ["fp4_quantize"], "environment": [...]}
  workbench run --bundle plan.zip --results out      # a plan and all it needs, from `workbench bundle`
  workbench run --kernel allreduce_fusion --environment 'flashinfer==0.6.10.post1 cuda-tile==1.7.0'     # 2 GPUs or more
  workbench run --interleave --arms 2 --environment flashinfer==0.6.8.post1 --environment flashinfer==0.6.11.post1
"""


def arguments(parser: argparse.ArgumentParser, without: Collection[str] = ()) -> None:
    """`without` are those that mean nothing to another command that runs trials; they have their defaults there."""

    def add(name: str, **how: Any) -> None:
        if name not in without:
            parser.add_argument(name, **how)
        else:
            unset = False if how.get("action") == "store_true" else None
            parser.set_defaults(**{name.strip("-").replace("-", "_"): how.get("default", unset)})

    add("--plan", metavar="FILE", help="a JSON object of these options; options given here override it")
    add(
        "--kernel",
        action="append",
        default=[],
        help="a kernel of the workbench (again for more; default: all)",
    )
    add("--kernel-file", action="append", default=[], metavar="PATH", help="a kernel file of your own")
    add(
        "--cases",
        metavar="FILE",
        help="shapes of your own: a JSON list of objects for every kernel, or an object of such lists by kernel",
    )
    _where(add)
    _calls(add)
    _how(add)


def _where(add: Any) -> None:
    """What runs them, and where its packages and modules come from."""
    add(
        "--environment",
        action="append",
        default=[],
        metavar="SPEC",
        help="requirements, a stack (sglang==0.5.12, or a name of --stacks), or 'here'",
    )
    stack_options(add)
    add(
        "--python",
        metavar="PATH",
        help="an existing interpreter, such as that of a container or of another checkout",
    )
    add("--wheels", metavar="DIR", help="build environments from this folder of wheels, without a network")
    add("--prebuilt", metavar="DIR", help="a folder of FlashInfer modules that were built ahead")
    add(
        "--bundle",
        metavar="FILE",
        help="the plan and all it needs from one file of `workbench bundle`; no network",
    )
    add("--build", action="store_true", help="also start builds that take hours (CUTLASS MoE)")
    add("--no-build", action="store_true", help="compile no FlashInfer module (always so with --bundle)")


def _calls(add: Any) -> None:
    """How each trial is called and timed."""
    add(
        "--mode",
        action="append",
        default=[],
        help="eager or graph (again for more; default: both); piecewise: a ladder of graphs in one memory pool; "
        "eager+tuned, graph+tuned: FlashInfer's autotuner chooses first. Not timed: fenced, fenced_start, "
        "piecewise+fenced (stop the first read or write past the end, or before the start, of a tensor), sanitized, "
        "sanitized+initcheck, sanitized+racecheck (under compute-sanitizer), compiled (see --sm)",
    )
    add(
        "--sm",
        action="append",
        default=[],
        metavar="SM",
        help="compile for this family, such as 120, and run nothing; no GPU is needed (again for more)",
    )
    add(
        "--effort",
        choices=("quick", "default", "thorough"),
        default="default",
        help="how long each trial is timed",
    )
    add(
        "--interleave",
        action="store_true",
        help="measure anew, with all environments by turns on one GPU, to compare them",
    )
    add("--arms", type=int, default=1, help="2: also compare each environment with itself (A/A)")
    add(
        "--generations",
        type=int,
        metavar="N",
        help="processes a side (default: 1 quick, 5 default, 12 thorough)",
    )
    add("--l2", choices=("cold", "warm"), default="cold", help="the L2 cache before each timed call")


def _how(add: Any) -> None:
    """How the run goes, and where it is stored."""
    add("--results", default="results/local", metavar="DIR", help="default: results/local")
    add(
        "--gpu",
        type=int,
        default=0,
        metavar="INDEX",
        help="which GPU, by index (default: 0); several ranks take the next ones too",
    )
    add("--no-reruns", action="store_true", help="make no further attempts to find where a crash happened")
    add("--limit", action="append", default=[], metavar="STAGE=SECONDS", help="such as build=600")
    add("--memory-mb", type=int, help="the most a worker may take (default: four fifths of what is free)")
    add(
        "--again", action="store_true", help="also run what is stored already: one more attempt at each trial"
    )
    add("--no-wait", action="store_true", help="stop at once if another run holds the GPU")
    add("--dry-run", action="store_true", help="show the plan and stop")
    add("--json", action="store_true", help="the plan or the summary as JSON on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if something stored of the plan speaks against an environment, 3 if some of it or all was not run."""
    from workbench import gpus, planning, runner

    options = asked(options)
    made, modes = _options(options), _modes(options)
    gpu = None if options.sm else gpus.here(options.gpu)
    kernels, environments = _kernels(options), _environments(options)
    planned = [
        each
        for target in (map(gpus.given, options.sm) if options.sm else (gpu,))
        for each in planning.plan(kernels, environments, modes, target)
    ]
    left_out = [each.name for each in kernels if each.name not in {one.trial.kernel for one in planned}]
    if not planned:
        raise ValueError(f"nothing to run: {_eager_alone(left_out)}")
    if left_out:
        aside(f"left out: {_eager_alone(left_out)}")
    if options.dry_run:
        return _show_plan(planned, options.json)
    summary = runner.run(planned, gpu, made)
    _show_summary(summary, options.json)
    return _exit_code(summary)


def asked(options: argparse.Namespace) -> argparse.Namespace:
    """The options with those of their plan file and of their bundle. Raises ValueError, OSError."""
    options = _plan.planned(options, defaults_of_run())
    return _of_bundle(options) if options.bundle else options


def _of_bundle(options: argparse.Namespace) -> argparse.Namespace:
    """The options that the bundle's plan has, less what is said otherwise now."""
    from workbench import bundling

    bundle = bundling.unpack(Path(options.bundle), bundling.FOLDER)
    bundling.use(bundle)
    here = ".".join(map(str, sys.version_info[:2]))
    if bundle.python != here and not options.python:
        aside(f"the bundle is for Python {bundle.python}, and this is {here}")
    defaults = defaults_of_run()
    for name, value in bundle.plan.items():
        _plan.check(name, value, defaults)
    return argparse.Namespace(
        **{**vars(options), **_plan.merged(bundling.placed(bundle), vars(options), defaults), "bundle": None}
    )


def defaults_of_run() -> dict[str, Any]:
    """The options of `workbench run`, as they are where nothing is said."""
    return vars(parser_of_run().parse_args([]))


def parser_of_run() -> argparse.ArgumentParser:
    """Raises ArgumentError for what is of another kind."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    arguments(parser)
    return parser


def _modes(options: argparse.Namespace) -> Sequence[str]:
    from workbench.results import MODES

    if options.sm and set(options.mode) - {"compiled"}:
        raise ValueError("--sm is compiled for and not run: its mode is compiled, or leave --mode out")
    return ["compiled"] if options.sm else options.mode or MODES


def _eager_alone(names: Sequence[str]) -> str:
    return f"{', '.join(names)} on the CPU, where the mode is eager alone"


def _kernels(options: argparse.Namespace) -> list[Any]:
    from workbench import kernels, planning

    cases = planning.read_cases(options.cases) if options.cases else None
    names = options.kernel or ([] if options.kernel_file else kernels.names())
    planning.check_named(cases, [*names, *(Path(path).stem for path in options.kernel_file)])
    built_in = [planning.built_in(name, planning.cases_of(cases, name)) for name in names]
    return built_in + [
        planning.from_file(path, planning.cases_of(cases, Path(path).stem)) for path in options.kernel_file
    ]


def _environments(options: argparse.Namespace) -> list[Any]:
    from workbench import environments

    specs = options.environment or (["here"] if options.python else [])
    if not specs:
        raise ValueError("say where to run: --environment flashinfer==0.6.8.post1, or --python PATH")
    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    return [
        environments.choose(spec, stacks, options.python, as_of=options.as_of, torch=options.torch)
        for spec in specs
    ]


def _options(options: argparse.Namespace) -> Any:
    from workbench import runner

    if (options.memory_mb or 0) < 0:
        raise ValueError("--memory-mb is a number of megabytes, or 0 for no limit")
    return runner.Options(
        results=Path(options.results),
        gpu_index=options.gpu,
        wheels=wheels_in(options.wheels),
        effort=options.effort,
        limits_s=dict(_limit(text) for text in options.limit),
        memory_mb=options.memory_mb,
        again=options.again,
        wait=not options.no_wait,
        quiet=options.json,
        prebuilt=folder(options.prebuilt, "--prebuilt"),
        build=options.build,
        no_build=options.no_build and not options.build,
        interleave=options.interleave,
        arms=_count(options.arms, "--arms"),
        generations=_count(options.generations, "--generations") if options.generations is not None else None,
        l2=options.l2,
        reruns=not options.no_reruns,
    )


def _count(number: int, name: str) -> int:
    if not 1 <= number <= 100:
        raise ValueError(f"{name} {number}: a number from 1 to 100")
    return number


def _limit(text: str) -> tuple[str, float]:
    from workbench.workers import LIMITS_S

    stage, _, seconds = text.partition("=")
    try:
        if stage not in LIMITS_S or not 0 < float(seconds) < float("inf"):
            raise ValueError
        return stage, float(seconds)
    except ValueError:
        stages = ", ".join(LIMITS_S)
        raise ValueError(f"--limit {text!r}: write STAGE=SECONDS with a stage of {stages}") from None


def _show_plan(planned: Sequence[Any], as_json: bool) -> int:
    from workbench.untrusted import MESSAGE, plain

    if as_json:
        print(json.dumps([{**asdict(each.trial), "device": each.device} for each in planned], indent=1))
        return FINE
    for each in planned:
        trial = each.trial
        words = (trial.environment, trial.kernel, trial.label, trial.mode, trial.gpu)
        print(plain(" | ".join(words), MESSAGE))
    print(f"{len(planned)} trials")
    return FINE


def _show_summary(summary: Any, as_json: bool) -> None:
    seconds = {stage: round(spent, 2) for stage, spent in summary.seconds.items()}
    if as_json:
        facts = {**vars(summary), "seconds": seconds}
        print(json.dumps({**facts, "files": sorted(summary.files)}, indent=1))
        return
    counts = [f"{count} {outcome}" for outcome, count in sorted(summary.outcomes.items())]
    counts += [f"{count} {outcome} (stored)" for outcome, count in sorted(summary.stored.items())]
    shown = ", ".join(counts).replace("_", " ") or "nothing"
    print(f"{shown}; {summary.skipped} of {summary.planned} were stored already; {summary.wall_s:.1f} s")
    if summary.reruns:
        again = ", ".join(f"{count} {why}" for why, count in sorted(summary.reruns.items()))
        print(f"further attempts, which do not count: {again}; {summary.seconds['reruns']:.1f} s")
    if summary.stopped:
        print(summary.stopped)


def _exit_code(summary: Any) -> int:
    if summary.stopped:
        return TOO_LITTLE
    return exit_code({**summary.outcomes, **summary.standing}, summary.against)
