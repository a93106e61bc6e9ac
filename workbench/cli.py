"""The command `workbench`: thin, and quick to start, for it imports only what the command at hand needs.

Exit codes, the same for every command: 0 nothing against, 1 something found, 2 bad usage or it could not run,
3 not enough data.
"""

import argparse
import io
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FINE, FOUND, UNUSABLE, TOO_LITTLE = 0, 1, 2, 3
EXIT_CODES = (
    "exit codes: 0 nothing against, 1 something found, 2 bad usage or it could not run, 3 not enough data"
)
RUN_EXAMPLES = """examples:
  workbench run --kernel fp4_quantize --environment flashinfer==0.6.8.post1 --environment flashinfer==0.6.11.post1
  workbench run --kernel mxfp4_swiglu --environment 'flashinfer==0.6.8.post1 triton_kernels@sglang-kernel==0.4.2.post1'
  workbench run --kernel-file my_kernel.py --python /opt/container/bin/python --mode eager
  workbench run --environment flashinfer==0.6.8.post1 --wheels wheels/       # no network: a folder of wheels
  workbench run --kernel fp4_quantize --environment flashinfer==0.6.8.post1 --dry-run
  workbench run --kernel mxfp4_swiglu --environment sglang==0.5.11 --environment sglang==0.5.12
  workbench run --kernel mxfp4_swiglu --environment candidate --stacks stacks.toml     # a stack of your own
  workbench run --kernel fp4_quantize --environment sglang --as-of 2026-05-14
"""
SHOW_EXAMPLES = """examples:
  workbench show results
  workbench show results results/local --kernel trtllm_attention --json
"""
STACK_EXAMPLES = """examples:
  workbench stack sglang==0.5.12                      # what that release pins of what kernels depend on
  workbench stack sglang==0.5.11 sglang==0.5.12       # the difference; exit code 0 same, 1 different
  workbench stack sglang --as-of 2026-05-14           # the newest on that day, and its pins as of then
  workbench stack 'sglang 0.5.11' 'sglang 0.5.12' --results results/local    # as they were really built
  workbench stack sglang==0.5.12 --save wheels/ --for-python 3.12            # to run it without a network
"""
REPORT_EXAMPLES = """examples:
  workbench report --results results --results results/local --site site
"""
Found = Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    _settle_streams()
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except BrokenPipeError:  # whoever read us has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return UNUSABLE
    except ValueError as problem:
        print(f"workbench: {problem}", file=sys.stderr)
        return UNUSABLE
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        print(f"workbench: {problem.strerror or problem}{where}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return TOO_LITTLE
    except Exception:  # our own mistake: it must not look like 1, something found
        traceback.print_exc()
        return UNUSABLE


def _settle_streams() -> None:
    """Streams may be closed, or know fewer letters than results have."""
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # else a worker's pipe would have the number of a standard stream, and be lost in the worker
    os.close(handle)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbench", description=__doc__, epilog=EXIT_CODES)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _run_parser(commands)
    _show_parser(commands)
    _report_parser(commands)
    _stack_parser(commands)
    return parser


def _command(commands: Found, name: str, does: str, examples: str, command: Found) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=does,
        description=does,
        epilog=f"{examples}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser


def _run_parser(commands: Found) -> None:
    add = _command(commands, "run", "Run the trials that the results lack.", RUN_EXAMPLES, _run).add_argument
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
        help="shapes of your own: a JSON list of objects, used for every kernel named",
    )
    add(
        "--environment",
        action="append",
        default=[],
        metavar="SPEC",
        help="requirements, a stack (sglang==0.5.12, or a name of --stacks), or 'here'",
    )
    _stack_options(add)
    add("--python", metavar="PATH", help="an interpreter that exists: a container's, a colleague's checkout")
    add("--wheels", metavar="DIR", help="build environments from this folder of wheels, without a network")
    add("--prebuilt", metavar="DIR", help="a folder of FlashInfer modules that were built ahead")
    add("--build", action="store_true", help="start also builds that take hours (CUTLASS MoE)")
    add("--mode", action="append", default=[], help="eager or graph (again for more; default: both)")
    add("--results", default="results/local", metavar="DIR", help="default: results/local")
    add("--gpu", type=int, default=0, metavar="INDEX", help="which GPU, by index (default: 0)")
    add(
        "--effort", choices=("quick", "default", "thorough"), default="default", help="how long each is timed"
    )
    add("--limit", action="append", default=[], metavar="STAGE=SECONDS", help="such as build=600")
    add("--memory-mb", type=int, help="the most a worker may take (default: four fifths of what is free)")
    add("--again", action="store_true", help="run also what is stored: one more attempt each")
    add("--no-wait", action="store_true", help="stop at once if another run holds the GPU")
    add("--dry-run", action="store_true", help="show the plan and stop")
    add("--json", action="store_true", help="the plan or the summary as JSON on stdout")


def _show_parser(commands: Found) -> None:
    parser = _command(commands, "show", "Show stored results as a matrix.", SHOW_EXAMPLES, _show)
    parser.add_argument("results", nargs="*", default=["results"], help="folders (default: results)")
    _filters(parser)
    parser.add_argument("--json", action="store_true", help="one object per trial on stdout")


def _report_parser(commands: Found) -> None:
    parser = _command(commands, "report", "Write the pages.", REPORT_EXAMPLES, _report)
    parser.add_argument("--results", action="append", default=[], metavar="DIR", help="default: results")
    parser.add_argument("--notebooks", default="notebooks", metavar="DIR")
    parser.add_argument("--site", default="site", metavar="DIR", help="where the pages go (default: site)")
    _filters(parser)
    parser.add_argument("--json", action="store_true", help="the pages and what became of them on stdout")


def _stack_parser(commands: Found) -> None:
    does = "Show what a stack pins, or the difference of two."
    add = _command(commands, "stack", does, STACK_EXAMPLES, _stack).add_argument
    add("spec", metavar="SPEC", help="a stack or other requirements; with --results, a stored environment")
    add("other", metavar="SPEC2", nargs="?", help="another one: show the difference")
    add("--results", action="append", default=[], metavar="DIR", help="take both from stored results")
    _stack_options(add)
    add("--wheels", metavar="DIR", help="read pins from this folder of wheels, without a network")
    add("--save", metavar="DIR", help="put there what `run --wheels DIR` needs for SPEC without a network")
    add("--for-python", metavar="VERSION", help="such as 3.12 (default: the Python this runs on)")
    add("--json", action="store_true", help="the pins or the rows as JSON on stdout")


def _stack_options(add: Found) -> None:
    add("--stacks", metavar="FILE", help="named stacks of your own, a TOML file")
    add("--as-of", metavar="DATE", help="resolve as on the evening of that day, such as 2026-05-14")
    add(
        "--torch",
        choices=("inherit", "isolated"),
        help="isolated: the torch that the stack pins, of its own: gigabytes (default: inherit)",
    )


def _filters(parser: argparse.ArgumentParser) -> None:
    for name in ("kernel", "environment", "gpu", "mode"):
        parser.add_argument(f"--{name}", action="append", default=[], help="only this one (again for more)")


def _run(options: argparse.Namespace) -> int:
    from workbench import gpus, planning, runner

    gpu = gpus.here(options.gpu)
    planned = planning.plan(_kernels(options), _environments(options), options.mode or planning.MODES, gpu)
    if not planned:
        raise ValueError("nothing to run: kernels that run on the CPU have the mode eager alone")
    if options.dry_run:
        return _show_plan(planned, options.json)
    summary = runner.run(planned, gpu, _options(options))
    _show_summary(summary, options.json)
    return _exit_code(summary)


def _kernels(options: argparse.Namespace) -> list[Found]:
    from workbench import kernels, planning

    cases = planning.read_cases(options.cases) if options.cases else None
    names = options.kernel or ([] if options.kernel_file else kernels.names())
    built_in = [planning.built_in(name, cases) for name in names]
    return built_in + [planning.from_file(path, cases) for path in options.kernel_file]


def _environments(options: argparse.Namespace) -> list[Found]:
    from workbench import environments

    specs = options.environment or (["here"] if options.python else [])
    if not specs:
        raise ValueError("say where to run: --environment flashinfer==0.6.8.post1, or --python PATH")
    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    return [
        environments.choose(spec, stacks, options.python, as_of=options.as_of, torch=options.torch)
        for spec in specs
    ]


def _options(options: argparse.Namespace) -> Found:
    from workbench import runner

    if (options.memory_mb or 0) < 0:
        raise ValueError("--memory-mb is a number of megabytes, or 0 for no limit")
    return runner.Options(
        results=Path(options.results),
        gpu_index=options.gpu,
        wheels=Path(options.wheels) if options.wheels else None,
        effort=options.effort,
        limits_s=dict(_limit(text) for text in options.limit),
        memory_mb=options.memory_mb,
        again=options.again,
        wait=not options.no_wait,
        quiet=options.json,
        prebuilt=Path(options.prebuilt) if options.prebuilt else None,
        build=options.build,
    )


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


def _show_plan(planned: Sequence[Found], as_json: bool) -> int:
    from dataclasses import asdict

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


def _show_summary(summary: Found, as_json: bool) -> None:
    seconds = {stage: round(spent, 2) for stage, spent in summary.seconds.items()}
    if as_json:
        facts = {**vars(summary), "outcomes": dict(summary.outcomes), "seconds": seconds}
        print(json.dumps({**facts, "files": sorted(summary.files)}, indent=1))
        return
    counts = (
        ", ".join(f"{count} {outcome}" for outcome, count in sorted(summary.outcomes.items())) or "nothing"
    )
    print(f"{counts}; {summary.skipped} of {summary.planned} were stored already; {summary.wall_s:.1f} s")
    if summary.stopped:
        print(summary.stopped)


def _exit_code(summary: Found) -> int:
    from workbench.results import Outcome

    if summary.stopped:
        return TOO_LITTLE
    against = {Outcome.WRONG, Outcome.IMPLAUSIBLE, Outcome.FAILED, Outcome.CRASHED, Outcome.HUNG}
    against |= {Outcome.OUT_OF_MEMORY, Outcome.NOT_BUILT}
    if against & set(summary.outcomes):
        return FOUND
    return TOO_LITTLE if summary.outcomes.get(Outcome.NOT_RUN) else FINE


def _show(options: argparse.Namespace) -> int:
    from workbench.matrix import Matrix
    from workbench.results import Outcome

    results = _load(options.results).only(
        kernel=options.kernel, environment=options.environment, gpu=options.gpu, mode=options.mode
    )
    if options.json:
        print(
            json.dumps([_standing(trial, standing) for trial, standing in results.trials().items()], indent=1)
        )
    else:
        print(Matrix(results).text())
    for problem in results.problems:
        print(f"workbench: not used: {problem!r}", file=sys.stderr)
    if not len(results):
        return TOO_LITTLE
    outcomes = {standing.outcome for standing in results.trials().values()}
    return FINE if outcomes <= {Outcome.OK} else (TOO_LITTLE if outcomes == {Outcome.NOT_RUN} else FOUND)


def _load(folders: Sequence[str]) -> Found:
    from workbench.results import load

    missing = [folder for folder in folders if not Path(folder).is_dir()]
    if missing:
        raise ValueError(f"no folder {missing[0]}; `workbench run` makes results/local")
    return load(*folders)


def _standing(trial: Found, standing: Found) -> dict[str, Found]:
    from dataclasses import asdict

    result = standing.result
    return {
        **asdict(trial),
        "outcome": standing.outcome,
        "flaky": standing.flaky,
        "agree": standing.agree,
        "tried": standing.tried,
        "reason": result.reason,
        "detail": result.detail,
        "stage": result.stage,
        "median_us": result.median_us,
    }


def _report(options: argparse.Namespace) -> int:
    from workbench import report

    folders = [str(Path(folder).resolve()) for folder in options.results or ["results"]]
    parameters = {
        "results": [folder for folder in folders if Path(folder).is_dir()],
        "kernels": options.kernel,
        "environments": options.environment,
        "gpus": options.gpu,
        "modes": options.mode,
    }
    made = report.render_all(Path(options.notebooks), Path(options.site), parameters)
    if options.json:
        print(json.dumps(made.facts(), indent=1))
    else:
        print(made)
    return FINE if made.complete else FOUND


def _stack(options: argparse.Namespace) -> int:
    from workbench import difference

    specs = [each for each in (options.spec, options.other) if each]
    if options.save:
        return _save_stack(options)
    locks = _stored_locks(specs, options.results) if options.results else _declared_locks(specs, options)
    if len(locks) == 1:
        print(json.dumps(locks[0], indent=1) if options.json else difference.lock_text(locks[0]))
        return FINE
    if options.json:
        print(json.dumps([vars(row) for row in difference.difference(*locks)], indent=1))
    else:
        print(difference.difference_text(*locks))
    return FINE if difference.same(*locks) else FOUND


def _stored_locks(names: Sequence[str], folders: Sequence[str]) -> list[Found]:
    from workbench import difference

    locks = difference.locks_of(_load(folders))
    for name in names:
        if name not in locks:
            raise ValueError(f"no environment {name!r} in the results; there are {', '.join(sorted(locks))}")
    return [locks[name] for name in names]


def _declared_locks(specs: Sequence[str], options: argparse.Namespace) -> list[Found]:
    from workbench import environments

    try:
        return [environments.declared(*_asked(spec, options)) for spec in specs]
    except environments.BuildError as problem:
        raise ValueError(problem) from problem


def _save_stack(options: argparse.Namespace) -> int:
    from workbench import environments

    if options.other or options.results:
        raise ValueError("--save takes one SPEC, and no results")
    try:
        files = environments.save(*_asked(options.spec, options), Path(options.save))
    except environments.BuildError as problem:
        raise ValueError(problem) from problem
    names = [file.name for file in files]
    print(json.dumps(names) if options.json else "\n".join(names) or "everything was there already")
    return FINE


def _asked(spec: str, options: argparse.Namespace) -> tuple[Found, Found]:
    """The environment that is meant, and where to ask about it."""
    from workbench import environments

    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    release = options.for_python or ".".join(map(str, sys.version_info[:3]))
    wheels = Path(options.wheels) if options.wheels else None
    sources = environments.Sources(
        environments.FOLDER.absolute(), wheels, Path(sys.executable), release, say=_aside
    )
    return environments.choose(spec, stacks, as_of=options.as_of, torch=options.torch), sources


def _aside(text: str) -> None:
    print(f"workbench: {text}", file=sys.stderr)
