"""The command `workbench`: thin, and quick to start, for it imports only what the command at hand needs.

Exit codes, the same for every command: 0 nothing against, 1 something found, 2 bad usage or it could not run,
3 not enough data.
"""

import argparse
import json
import sys
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
"""
SHOW_EXAMPLES = """examples:
  workbench show results
  workbench show results results/local --kernel trtllm_attention --json
"""
REPORT_EXAMPLES = """examples:
  workbench report --results results --results results/local --site site
"""
Found = Any


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.command(options)
    except ValueError as problem:
        print(f"workbench: {problem}", file=sys.stderr)
        return UNUSABLE
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        print(f"workbench: {problem.strerror or problem}{where}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        return TOO_LITTLE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbench", description=__doc__, epilog=EXIT_CODES)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _run_parser(commands)
    _show_parser(commands)
    _report_parser(commands)
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
    add("--environment", action="append", default=[], metavar="SPEC", help="requirements, or 'here'")
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
    return [environments.parse(spec, options.python) for spec in specs]


def _options(options: argparse.Namespace) -> Found:
    from workbench import runner

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
        if stage not in LIMITS_S:
            raise ValueError
        return stage, float(seconds)
    except ValueError:
        stages = ", ".join(LIMITS_S)
        raise ValueError(f"--limit {text}: write STAGE=SECONDS with a stage of {stages}") from None


def _show_plan(planned: Sequence[Found], as_json: bool) -> int:
    from dataclasses import asdict

    if as_json:
        print(json.dumps([{**asdict(each.trial), "device": each.device} for each in planned], indent=1))
        return FINE
    for each in planned:
        trial = each.trial
        print(f"{trial.environment} | {trial.kernel} | {trial.label} | {trial.mode} | {trial.gpu}")
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
