"""Show what a stack pins, or the difference of two."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.commands._shared import (
    FINE,
    FOUND,
    aside,
    load_results,
    python_version,
    stack_options,
    wheels_in,
)

EXAMPLES = """examples:
  workbench stack sglang==0.5.12                      # what that release pins of what kernels depend on
  workbench stack sglang==0.5.11 sglang==0.5.12       # the difference; exit code 0 same, 1 different
  workbench stack sglang --as-of 2026-05-14           # the newest on that day, and its pins as of then
  workbench stack 'sglang 0.5.11' 'sglang 0.5.12' --results results    # as they were really built
  workbench stack sglang==0.5.12 --save wheels/ --for-python 3.12            # to run it without a network
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("spec", metavar="SPEC", help="a stack or other requirements; with --results, a stored environment")
    add("other", metavar="SPEC2", nargs="?", help="another one: show the difference")
    add("--results", action="append", default=[], metavar="DIR", help="take both from stored results")
    stack_options(add)
    add("--wheels", metavar="DIR", help="read pins from this folder of wheels, without a network")
    add("--save", metavar="DIR", help="put there what `run --wheels DIR` needs for SPEC without a network")
    add(
        "--for-python",
        type=python_version,
        metavar="VERSION",
        help="such as 3.12 (default: the Python this runs on)",
    )
    add("--json", action="store_true", help="the pins or the rows as JSON on stdout")


def run(options: argparse.Namespace) -> int:
    """0 if the two are the same, 1 if they differ."""
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


def _stored_locks(names: Sequence[str], folders: Sequence[str]) -> list[Any]:
    from workbench import difference

    locks = difference.locks_of(load_results(folders))
    found = [difference.newest(locks, name) for name in names]
    for name, lock in zip(names, found, strict=True):
        if lock is None:
            raise ValueError(f"no environment {name!r} in the results; there are {', '.join(sorted(locks))}")
    return found


def _declared_locks(specs: Sequence[str], options: argparse.Namespace) -> list[Any]:
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


def _asked(spec: str, options: argparse.Namespace) -> tuple[Any, Any]:
    """The environment that is meant, and where to ask about it."""
    from workbench import environments

    stacks = environments.load_stacks(options.stacks) if options.stacks else {}
    release = options.for_python or ".".join(map(str, sys.version_info[:3]))
    wheels = wheels_in(options.wheels)
    sources = environments.Sources(
        environments.FOLDER.absolute(), wheels, Path(sys.executable), release, say=aside
    )
    return environments.choose(spec, stacks, as_of=options.as_of, torch=options.torch), sources
