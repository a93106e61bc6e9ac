"""Show what an environment has, what in it does not go together, why that matters and what to do."""

import argparse
import json
from pathlib import Path

from workbench.commands._shared import aside, wheels_in

EXAMPLES = """examples:
  workbench doctor                                            # the interpreter that runs the workbench
  workbench doctor --python /opt/container/bin/python --expect requirements.txt
  workbench doctor --environment flashinfer==0.6.11.post1 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--environment", metavar="SPEC", help="requirements; built if need be")
    add("--python", metavar="PATH", help="an existing interpreter")
    add("--wheels", metavar="DIR", help="build the environment from this folder of wheels, without a network")
    add("--expect", metavar="FILE", help="requirement lines that the environment must meet")
    add("--json", action="store_true", help="the fingerprint and the skews on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if something is out of step, 3 if there is no FlashInfer to speak of, else 0."""
    from workbench import doctor, environments

    wanted = doctor.read_expected(Path(options.expect)) if options.expect else None
    try:
        environment = environments.parse(options.environment or "here", options.python)
        built = environments.build(environment, wheels=wheels_in(options.wheels), progress=aside)
        variables = built.variables if options.environment else {}
        found = doctor.take(built.python, variables)
    except environments.BuildError as error:
        raise ValueError(f"{options.environment or 'the interpreter'} cannot be examined: {error}") from error
    report = doctor.examine(environment.name, found, wanted)
    print(json.dumps(report.facts(), indent=1) if options.json else report)
    lacking = not (wanted or found.version("flashinfer-python"))
    if lacking and not options.json:
        print("no flashinfer here: name one with --environment flashinfer==X")
    return 1 if report.against else 3 if lacking else 0
