"""Check a candidate against a baseline: read both, measure what is missing, run regressions again, say the verdict."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.commands import _check_plan, _verdict
from workbench.commands import run as run_command
from workbench.commands._shared import TOO_LITTLE, aside, folder, load_results, say_unread
from workbench.files import make_folder

USAGE = "workbench check BASELINE CANDIDATE [--quick | --thorough] [OPTION ...]"
EXAMPLES = f"""examples:
  workbench check flashinfer==0.6.8.post1 flashinfer==0.6.11.post1 --plan-only
  workbench check 'flashinfer==0.6.8.post1 triton_kernels@sglang-kernel==0.4.2.post1' \\
                  'flashinfer==0.6.11.post1 triton_kernels@sglang-kernel==0.4.2.post1'
  workbench check sglang==0.5.11 sglang==0.5.12 --kernel trtllm_attention --quick --format markdown
  workbench check old/.venv/bin/python new/.venv/bin/python --policy policy.toml
  workbench check flashinfer==0.6.8.post1 dist/flashinfer_python-0.6.12-py3-none-any.whl --wheels wheels/

an environment with triton_kernels and one without are two: results of one say nothing of the other
without a GPU the verdict is from stored results; what is open is measured where there is one, by turns
0 is BUMP or KEEP, 1 HOLD or REVERT, 2 it could not run (there is no such version), 3 NEED DATA

{_verdict.LOOKS}"""


# Options by which a command that is suggested asks for the same things.
KEPT = (
    "cases", "python", "wheels", "prebuilt", "build", "stacks", "as_of", "torch", "policy", "l2", "gpu", "memory_mb",
    "limit", "results", "also",
)  # fmt: skip
WITHOUT = ("--plan", "--environment", "--bundle", "--sm", "--interleave", "--dry-run")


def arguments(parser: argparse.ArgumentParser) -> None:
    run_command.arguments(parser, WITHOUT)
    add = parser.add_argument
    add(
        "baseline",
        metavar="BASELINE",
        help="a spec as `run --environment` takes it, or an interpreter's path",
    )
    add("candidate", metavar="CANDIDATE")
    add(
        "--quick",
        action="store_const",
        dest="effort",
        const="quick",
        help="one process a side: large changes alone",
    )
    add("--thorough", action="store_const", dest="effort", const="thorough", help="twelve processes a side")
    add("--plan-only", action="store_true", help="say what would be done, and how long it would take")
    add("--site", metavar="DIR", help="write the pages there, too")
    add("--notebooks", default="notebooks", metavar="DIR", help="of the pages (default: notebooks)")
    add(
        "--also",
        action="append",
        default=[],
        metavar="DIR",
        help="more folders of stored results to judge by",
    )
    _verdict.verdict_options(parser)


def run(options: argparse.Namespace) -> int:
    """0 BUMP or KEEP, 1 HOLD or REVERT, 3 NEED DATA, or interrupted."""
    try:
        return _check(options)
    except KeyboardInterrupt:
        aside("interrupted; run the same command again to go on")
        return TOO_LITTLE


def _check(options: argparse.Namespace) -> int:
    from workbench import checking

    asked, kernels = _asked(options)
    if options.plan_only:
        _check_plan.exist((asked.baseline, asked.candidate), asked.options.wheels, aside)
        return _check_plan.show(asked, checking.stored(asked, _stored(options)), options)
    if options.site:  # now, and not after minutes of measuring
        folder(options.notebooks, "--notebooks")
        make_folder(Path(options.site))
    asked, reading = _read(asked, [each.module.API for each in kernels])

    def judged() -> Any:
        return asked.judge(checking.stored(asked, _stored(options)))

    todo = checking.open_pairs(asked, checking.stored(asked, _stored(options)))
    if todo:
        checking.measure(asked, todo)
        checking.sharpen(asked, judged())
    checking.verify(asked, judged())
    checking.verify_together(asked, judged())
    found = judged()
    say_unread(found.results.problems)
    code = _verdict.show(found, options, reading.parts(), reading=reading.facts())
    if options.site:
        _pages(found, options)
    return code


def _asked(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    """What is asked, with the trials that a device here can run; and the kernels."""
    from workbench import checking, gpus, planning

    kernels, policy, gpu = run_command._kernels(options), _verdict.policy_of(options), gpus.here(options.gpu)
    _with_votes([each.name for each in kernels], options.mode)
    baseline, candidate = _sides(options)
    planned = planning.plan(kernels, [baseline, candidate], options.mode or planning.MODES, gpu)
    given = replace(run_command._options(options), quiet=options.json or options.format == "json")
    policy = replace(policy, rule=given.effort) if given.effort != "default" else policy
    current = {options.baseline: baseline.name, options.candidate: candidate.name}.get(options.current, "")
    if options.current and not current:
        raise ValueError(f"--current is one of the two, written as it is there: not {options.current!r}")
    here = tuple(each for each in planned if each.device)
    specs = {baseline.name: options.baseline, candidate.name: options.candidate}
    specs |= {Path(path).stem: path for path in options.kernel_file}
    asked = checking.Asked(
        baseline, candidate, here, gpu, given, current, policy, specs=specs, words=_words(options)
    )
    return asked, kernels


def _with_votes(names: Sequence[str], modes: Sequence[str]) -> None:
    """Raises ValueError for what no verdict counts: a file called as an instrument is, and a mode without a vote."""
    from workbench.planned import INSTRUMENTS
    from workbench.verdict.pairs import votes_at_all

    instruments = [name for name in names if name in INSTRUMENTS]
    silent = [mode for mode in modes if not votes_at_all(mode)]
    if instruments:
        raise ValueError(
            f"{instruments[0]} is what an instrument is called, and has no vote: give the kernel file another name"
        )
    if silent:
        raise ValueError(f"mode {silent[0]} has no vote: `workbench run --mode {silent[0]}` tries it")


def _words(options: argparse.Namespace) -> tuple[str, ...]:
    """The options of KEPT that were given, as they were."""
    defaults = run_command.defaults_of_run()
    given = {name: getattr(options, name) for name in KEPT}
    return tuple(
        word
        for name, value in given.items()
        if value and value != defaults.get(name)
        for each in (value if isinstance(value, list) else [value])
        for word in (f"--{name.replace('_', '-')}", *([] if each is True else [str(each)]))
    )


def _sides(options: argparse.Namespace) -> tuple[Any, Any]:
    from workbench import environments

    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    baseline, candidate = (
        environments.choose(spec, stacks, options.python, as_of=options.as_of, torch=options.torch)
        for spec in (options.baseline, options.candidate)
    )
    if baseline.name == candidate.name:
        raise ValueError(
            f"both are called {baseline.name}: a wheel built anew needs a version of its own, such as 0.6.12+mine"
        )
    return baseline, candidate


def _stored(options: argparse.Namespace) -> Any:
    own = [options.results] if Path(options.results).is_dir() else []
    folders = [*own, *options.also, *(["results"] if Path("results").is_dir() else [])]
    return load_results(list(dict.fromkeys(folders)))


def _read(asked: Any, apis: Sequence[str]) -> tuple[Any, Any]:
    """Both environments built and read; what cannot be built is said, and is an outcome where it is measured.

    Raises ValueError where that is because there is no such version.
    """
    from workbench import checking, environments

    built, unread = {}, []
    for each in (asked.baseline, asked.candidate):
        try:
            built[each.name] = environments.build(
                each, folder=asked.options.environments_folder, wheels=asked.options.wheels, progress=aside
            )
        except environments.BuildError as problem:
            _check_plan.exist([each], asked.options.wheels, aside)
            unread.append(f"{each.name} cannot be built: {problem}.")
    asked = replace(asked, built=built)
    if unread:
        return asked, checking.Reading(unread=tuple(unread))
    return asked, checking.examine(built[asked.baseline.name], built[asked.candidate.name], apis)


def _pages(found: Any, options: argparse.Namespace) -> None:
    from workbench import report

    folders = [
        str(Path(folder).resolve())
        for folder in (options.results, *options.also, "results")
        if Path(folder).is_dir()
    ]
    parameters = {
        "results": folders, "baseline": found.baseline, "candidate": found.candidate, "current": found.current,
        "policy": str(Path(options.policy).resolve()) if options.policy else "",
    }  # fmt: skip
    aside(str(report.render_all(Path(options.notebooks), Path(options.site), parameters)))
