"""Show stored results as a matrix."""

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

from workbench.commands._shared import exit_code, filters, load_results

COLUMNS = ("environment", "gpu", "mode")
EXAMPLES = """examples:
  workbench show results
  workbench show results --kernel mxfp4_swiglu --environment 'sglang 0.5.12'     # the name in full
  workbench show results results/local --kernel trtllm_attention --json
  workbench show results --kernel mxfp4_swiglu --columns mode     # eager beside graph and piecewise
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", default=["results"], help="folders (default: results)")
    filters(parser)
    parser.add_argument(
        "--columns",
        default="environment",
        choices=COLUMNS,
        help="what the columns are (default: environment)",
    )
    parser.add_argument("--json", action="store_true", help="one object per trial on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if something speaks against an environment, 3 if nothing is ok or something was not run."""
    from workbench.matrix import Matrix
    from workbench.results import check_modes

    every = load_results(options.results)
    check_modes(options.mode, {result.trial.mode for result in every})
    results = every.only(
        kernel=options.kernel, environment=options.environment, gpu=options.gpu, mode=options.mode
    )
    if options.json:
        print(
            json.dumps([_standing(trial, standing) for trial, standing in results.trials().items()], indent=1)
        )
    else:
        print(Matrix(results, columns=options.columns).text())
    for problem in results.problems:
        print(f"workbench: not used: {problem!r}", file=sys.stderr)
    standings = results.trials().values()
    outcomes = Counter(str(standing.outcome) for standing in standings)
    return exit_code(outcomes, sum(standing.against for standing in standings))


def _standing(trial: Any, standing: Any) -> dict[str, Any]:
    result = standing.result
    return {
        "id": trial.id,
        **asdict(trial),
        "outcome": standing.outcome,
        "flaky": standing.flaky,
        "agree": standing.agree,
        "tried": standing.tried,
        "earlier": standing.earlier,
        "reason": result.reason,
        "detail": result.detail,
        "stage": result.stage,
        "median_us": result.median_us,
    }
