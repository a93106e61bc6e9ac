"""Write a stored trial as one self-contained Python file, and run it in a new environment."""

import argparse
import json
from pathlib import Path
from typing import Any

from workbench.commands._shared import FINE, FOUND, TOO_LITTLE, aside, load_results, positive, wheels_in

USAGE = "workbench repro TRIAL [--results DIR ...] [OPTION ...]"
EXAMPLES = """examples:
  workbench repro --list --results results                   # what speaks against its environment, with ids
  workbench repro 20dd5cd3de                                 # an id, or its beginning: writes repro_20dd5cd3de.py
  workbench repro 20dd --results results/local --wheels wheels/ --output issue.py
  workbench repro 20dd --no-run                              # the file alone; it says that it was not tried
"""
MOST_CHOICES = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("trial", nargs="?", default="", metavar="TRIAL", help="a trial's id, as `--list` and `show` print it")
    add("--results", action="append", metavar="DIR", help="where to look (again for more; default: results)")
    add("--list", action="store_true", help="show the trials that speak against their environment, and stop")
    add("--output", metavar="FILE", help="default: repro_TRIAL.py in this folder")
    add("--kernel-file", metavar="PATH", help="the kernel's file, where it is one of your own")
    add("--environment", metavar="SPEC", help="try it in this one instead of the stored one")
    add("--wheels", metavar="DIR", help="build the environment from this folder, without a network")
    add("--gpu", type=int, default=0, metavar="INDEX", help="which GPU to try it on (default: 0)")
    add(
        "--limit", type=positive, default=900.0, metavar="SECONDS", help="how long it may take (default: 900)"
    )
    add("--no-run", action="store_true", help="do not try it")
    add("--json", action="store_true", help="the file and what came of it as JSON on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if it was reproduced, 0 if not, 3 if it was not tried; with --list, 1 if there is something to reproduce."""
    results = load_results(options.results or ["results"])
    if options.list or not options.trial:
        return _list(results, options.json)
    found = [trial for trial in results.trials() if trial.id.startswith(options.trial.lower())]
    if len(found) != 1:
        _list(results, options.json)
        raise ValueError(_choice(options.trial, found))
    from workbench.repro import choosing

    return _written(choosing.chosen(results, found[0]), options)


def _choice(text: str, found: list[Any]) -> str:
    if not found:
        return f"no trial's id begins with {text!r}; those that speak against their environment are listed"
    return f"{len(found)} trials begin with {text!r}: {', '.join(trial.id for trial in found[:MOST_CHOICES])}"


def _written(result: Any, options: argparse.Namespace) -> int:
    from workbench import files
    from workbench.repro import script, trying

    kernel = _kernel(result, options.kernel_file)
    name = script.file_name(result)
    output = Path(options.output or name)
    if not output.exists():
        files.make_folder(output.parent)
    tried = trying.Tried(trying.NOT_TRIED, "--no-run")
    if not options.no_run:
        tried = _tried(result, script.write(result, kernel, "it is being tried"), name, options)
    files.write(output, script.write(result, kernel, str(tried)))
    facts = {"file": str(output), "trial": result.trial.id, "state": tried.state, "detail": tried.text}
    print(json.dumps(facts, indent=1) if options.json else f"{output}: {tried}")
    return {trying.REPRODUCED: FOUND, trying.NOT_REPRODUCED: FINE}.get(tried.state, TOO_LITTLE)


def _kernel(result: Any, file: str | None) -> Any:
    """The kernel as it is here: the sources of a file never come from a result line."""
    from workbench import kernels, planning

    if file is None and result.trial.kernel not in kernels.names():
        raise ValueError("the workbench has no kernel of that name; say where it is: --kernel-file PATH")
    case = [result.trial.case]
    kernel = planning.from_file(file, case) if file else planning.built_in(result.trial.kernel, case)
    if kernel.name != result.trial.kernel:
        raise ValueError(f"--kernel-file {file}: the trial's kernel has another name")
    return kernel


def _tried(result: Any, text: str, name: str, options: argparse.Namespace) -> Any:
    from workbench import environments
    from workbench.repro import trying, vouched

    wheels = wheels_in(options.wheels)
    named = options.environment
    try:
        environment = environments.choose(named, {}) if named else vouched.environment(result)
    except ValueError as problem:
        if named:
            raise
        return trying.Tried(trying.NOT_TRIED, str(problem))
    place = trying.Place(environment, wheels, options.gpu, options.limit, aside)
    return trying.attempt(result, text, name, place)


def _list(results: Any, as_json: bool) -> int:
    from workbench.untrusted import plain

    against = [standing for standing in results.trials().values() if standing.against]
    if as_json:
        print(json.dumps([_facts(standing.result) for standing in against], indent=1))
        return FOUND if against else FINE
    for standing in against:
        facts = _facts(standing.result)
        print(" | ".join(plain(each) for each in facts.values()))
    print(f"{len(against)} trials speak against their environment")
    return FOUND if against else FINE


def _facts(result: Any) -> dict[str, str]:
    trial = result.trial
    return {
        "trial": trial.id, "outcome": str(result.outcome), "reason": result.reason, "kernel": trial.kernel,
        "mode": trial.mode, "case": trial.label, "environment": trial.environment, "gpu": trial.gpu,
    }  # fmt: skip
