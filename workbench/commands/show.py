"""Show stored results as a matrix."""

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from workbench.commands._shared import FINE, FOUND, TOO_LITTLE, filters, load_results

EXAMPLES = """examples:
  workbench show results
  workbench show results results/local --kernel trtllm_attention --json
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", default=["results"], help="folders (default: results)")
    filters(parser)
    parser.add_argument("--json", action="store_true", help="one object per trial on stdout")


def run(options: argparse.Namespace) -> int:
    """0 if all is ok, 3 if nothing was run, else 1."""
    from workbench.matrix import Matrix
    from workbench.results import Outcome

    results = load_results(options.results).only(
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


def _standing(trial: Any, standing: Any) -> dict[str, Any]:
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
