"""Cancel what is left of a submission; what it has measured stays."""

import argparse
import json

from workbench.commands._shared import FINE, TOO_LITTLE
from workbench.commands._submission import chosen, which

EXAMPLES = """examples:
  workbench cancel                      # the newest submission
  workbench cancel 20261130T170000Z-a1b2c3
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    which(parser)


def run(options: argparse.Namespace) -> int:
    """3 where there was nothing left to cancel."""
    from workbench import cluster

    submission = chosen(options)
    ended = cluster.cancel(submission)
    if options.json:
        print(json.dumps({"submission": submission.id, "cancelled": ended}, indent=1))
    else:
        print(f"{submission.id}: {', '.join(ended) or 'nothing was left to cancel'}")
    return FINE if ended else TOO_LITTLE
