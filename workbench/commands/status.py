"""Show how a submission stands: which blocks wait, run, are done, or will never be."""

import argparse
import json

from workbench.commands._submission import chosen, exit_code, facts, text, which

EXAMPLES = """examples:
  workbench status                      # the newest submission
  workbench status 20261130T170000Z-a1b2c3 --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    which(parser)


def run(options: argparse.Namespace) -> int:
    """3 while something is to come; then 1 if something speaks against an environment, 3 if something was not run."""
    from workbench import cluster

    submission = chosen(options)
    rows = facts(submission, cluster.states(submission))
    print(json.dumps(rows, indent=1) if options.json else text(submission, rows))
    return exit_code(rows)
