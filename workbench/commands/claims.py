"""Show what an environment's FlashInfer says it supports, beside what was measured and what was reported."""

import argparse
import json
from pathlib import Path
from typing import Any

from workbench.commands._shared import aside, wheels_in

EXAMPLES = """examples:
  workbench claims --environment flashinfer==0.6.11.post1
  workbench claims --environment flashinfer==0.6.8.post1 --sm 90 103 --results results --json
  workbench claims --python /opt/container/bin/python --sm 120 121
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--environment", metavar="SPEC", help="requirements; built if need be")
    add("--python", metavar="PATH", help="an existing interpreter")
    add("--wheels", metavar="DIR", help="build the environment from this folder of wheels, without a network")
    add(
        "--sm",
        type=_sm,
        nargs="+",
        action="extend",
        default=[],
        metavar="N",
        help="such as 90 103 (default: 90 100 103 120 121)",
    )
    add(
        "--results",
        action="append",
        default=[],
        metavar="DIR",
        help="measured results (default: results, if there)",
    )
    add("--json", action="store_true", help="a list of claims on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if a claim is not what was measured, 3 if there is no FlashInfer to ask, else 0."""
    from workbench import claims, doctor, environments
    from workbench.store import load

    if not (options.environment or options.python):
        raise ValueError("say which: --environment flashinfer==0.6.11.post1, or --python PATH")
    folders = options.results or ["results"]
    results = load(*(folder for folder in folders if Path(folder).is_dir()))
    try:
        wheels = wheels_in(options.wheels)
        environment = environments.parse(options.environment or "here", options.python)
        built = environments.build(environment, wheels=wheels, progress=aside)
        found = doctor.take(built.python, built.variables)
        if not found.version("flashinfer-python"):
            aside(f"{environment.name} has no flashinfer-python")
            return 3
        rows = claims.claims(built, found, results, options.sm or claims.SMS)
    except environments.BuildError as error:
        raise ValueError(f"{options.environment or 'the interpreter'} cannot be asked: {error}") from error
    if options.json:
        print(json.dumps([each.facts() for each in rows], indent=1))
    else:
        _show(rows, f"{environment.name}: flashinfer {found.version('flashinfer-python')}")
    return int(any(each.stands_out for each in rows))


def _show(rows: list[Any], title: str) -> None:
    print(title)
    function = ""
    told: set[tuple[str, str]] = set()
    for each in rows:
        if each.function != function:
            function = each.function
            print(f"{function}  ({each.how})")
        mark = "  <- not what was measured" if each.stands_out else ""
        said = "; ".join(filter(None, (each.detail, each.measured)))
        print(f"  SM{each.sm:<4} {each.said:11} {said}{mark}"[:300])
        for issue in (
            each.known_issues if not told.issuperset((function, text) for text in each.known_issues) else ()
        ):
            told.add((function, issue))
            print(f"         {issue}"[:300])


def _sm(text: str) -> int:
    number = text.upper().removeprefix("SM").replace(".", "")
    if not number.isdigit() or not 70 <= int(number) <= 130:
        raise argparse.ArgumentTypeError(f"{text} is no SM; write it like 90 or 10.3")
    return int(number)
