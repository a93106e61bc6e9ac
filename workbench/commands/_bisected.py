"""What `bisect` asks, read from its options: the kernel and its one case, the environments, the versions between."""

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.commands import run as run_command
from workbench.commands._shared import wheels_in

MOST_REPEATS = 20
MOST_CASES = 12


def asked(options: argparse.Namespace) -> Any:
    """The question that is put to each environment. Raises ValueError."""
    from workbench import bisecting, gpus
    from workbench.verdict import Policy

    mode = _only(options.mode or ["eager"], "--mode")
    if not 1 <= options.repeats <= MOST_REPEATS:
        raise ValueError(f"--repeats {options.repeats}: a number from 1 to {MOST_REPEATS}")
    if options.margin is not None and not 0 < options.margin < 1:
        raise ValueError(f"--margin {options.margin}: a share, such as 0.03 for 3 %")
    own = "results" if Path("results").is_dir() else options.results
    until = bisecting.Until(options.until)
    return bisecting.Asked(
        _kernel(options), mode, gpus.here(options.gpu), until, options.repeats,
        options=replace(run_command._options(options), reruns=False, interleave=False),
        policy=Policy(options.effort, options.margin),
        folders=tuple(dict.fromkeys([options.results, *options.also, own])),
        reference=_environment(options.good, options) if until == bisecting.Until.SLOWER and options.good else None,
    )  # fmt: skip


def ends(options: argparse.Namespace) -> tuple[Any, Any]:
    """Both environments. Raises ValueError."""
    if options.environment:
        raise ValueError("--environment is for --step; the ends are --good E1 and --bad E2")
    if not (options.good and options.bad):
        raise ValueError(
            "between what? --good E1 --bad E2, such as --good flashinfer==0.6.7 --bad flashinfer==0.6.11"
        )
    good, bad = _environment(options.good, options), _environment(options.bad, options)
    if good.name == bad.name:
        raise ValueError(f"both ends are called {good.name}")
    return good, bad


def maker(along: Any, options: argparse.Namespace) -> Callable[[str], Any]:
    """Version -> environment."""
    return lambda version: _environment(along.spec(version), options)


def candidates(along: Any, options: argparse.Namespace) -> Any:
    """The versions between the ends that can be installed. Raises ValueError."""
    from workbench import bisecting, environments
    from workbench.environments.lock import probe

    end = _environment(options.good, options)
    wheels = wheels_in(options.wheels)
    try:
        python = probe(Path(end.python or sys.executable), own=False)["python"]
        return bisecting.candidates(along, environments.releases(along.package, python, wheels))
    except environments.BuildError as problem:
        raise ValueError(f"the releases of {along.package} cannot be listed: {problem}") from problem


def step(options: argparse.Namespace) -> tuple[Any, Any]:
    """The question, and the one environment, named after the commit that is checked out here."""
    if options.bad or (options.good and options.until != "slower"):
        raise ValueError(
            "--step asks one environment: --good is what `--until slower` compares with, --bad nothing"
        )
    if options.until == "slower" and not options.good:
        raise ValueError("slower than what? --good E1")
    environment, *more = run_command._environments(options)
    if more:
        raise ValueError("--environment: --step asks one")
    commit = _commit()
    named = f"{environment.name} at {commit}" if commit else environment.name
    return replace(asked(options), anew=True), replace(environment, name=named)


def _kernel(options: argparse.Namespace) -> Any:
    """With one case alone."""
    _only([*options.kernel, *options.kernel_file], "--kernel or --kernel-file")
    (kernel,) = run_command._kernels(options)
    if kernel.on_cpu and options.mode not in ([], ["eager"]):
        raise ValueError(f"{kernel.name} runs on the CPU, where the mode is eager alone")
    if options.case and options.case.lstrip().startswith("{"):
        return _of_own_case(kernel, options)
    return replace(kernel, cases=(_case(kernel, options.case or ""),))


def _of_own_case(kernel: Any, options: argparse.Namespace) -> Any:
    from workbench import planning
    from workbench.strict_json import read_json

    case = [read_json(options.case)]
    return (
        planning.from_file(kernel.file, case) if options.kernel_file else planning.built_in(kernel.name, case)
    )


def _case(kernel: Any, text: str) -> dict[str, Any]:
    """The one case that has these values; a value is written as it is shown."""
    wanted = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    fits = [
        case
        for case in kernel.cases
        if all(name in case and str(case[name]) == value for name, value in wanted.items())
    ]
    if len(fits) == 1:
        return fits[0]
    shown = [",".join(f"{name}={value}" for name, value in case.items()) for case in fits or kernel.cases]
    more = f"\n  and {len(shown) - MOST_CASES} more" if len(shown) > MOST_CASES else ""
    many = f"{len(fits)} cases have" if fits else "no case has"
    listed = "".join(f"\n  {each}" for each in shown[:MOST_CASES])
    raise ValueError(f"{many} --case {text!r} of {kernel.name}; one is wanted of:{listed}{more}")


def _environment(spec: str, options: argparse.Namespace) -> Any:
    from workbench import environments

    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    python = None if options.step else options.python
    return environments.choose(spec, stacks, python, as_of=options.as_of, torch=options.torch)


def _only(given: list[str], option: str) -> str:
    if len(given) != 1:
        raise ValueError(f"{option}: one is bisected, not {len(given)}")
    return given[0]


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
