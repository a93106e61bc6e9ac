"""Show stored results: how many ended how, what speaks against an environment, and trial by trial."""

import argparse
import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from workbench.commands._shared import check_kernels, exit_code, filters, load_results, say_unread

COLUMNS = ("environment", "gpu", "mode")
EXAMPLES = """examples:
  workbench show results                                                         # counts and findings
  workbench show results --against                                               # and each trial that has a fault
  workbench show results --trials | less                                         # each trial there is
  workbench show results --kernel mxfp4_swiglu --environment 'sglang 0.5.12'     # the name in full
  workbench show results results/local --kernel trtllm_attention --json
  workbench show results --kernel mxfp4_swiglu --columns mode     # eager beside graph and piecewise
"""


SHORT = 60  # rows; what is longer is counted, and listed if asked


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("results", nargs="*", default=["results"], help="folders (default: results)")
    filters(parser)
    parser.add_argument(
        "--columns",
        default="environment",
        choices=COLUMNS,
        help="what the columns are (default: environment)",
    )
    parser.add_argument(
        "--against", action="store_true", help="only trials that speak against an environment"
    )
    parser.add_argument(
        "--trials",
        action="store_true",
        help=f"list each trial (done by default for at most {SHORT} rows, or with --against)",
    )
    parser.add_argument("--json", action="store_true", help="one object per trial on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if something speaks against an environment, 3 if nothing is ok or something was not run."""
    from workbench.results import check_modes

    every = load_results(options.results)
    check_modes(options.mode, {result.trial.mode for result in every})
    check_kernels(options.kernel, every)
    results = every.only(
        kernel=options.kernel, environment=options.environment, gpu=options.gpu, mode=options.mode
    )
    if options.against:
        results = _against(results)
    if options.json:
        print(
            json.dumps([_standing(trial, standing) for trial, standing in results.trials().items()], indent=1)
        )
    else:
        print(_text(results, options))
    say_unread(results.problems)
    standings = results.trials().values()
    outcomes = Counter(str(standing.outcome) for standing in standings)
    return exit_code(outcomes, sum(standing.against for standing in standings))


def _against(results: Any) -> Any:
    """All attempts at the trials that speak against an environment."""
    from workbench.results import Results

    bad = {trial for trial, standing in results.trials().items() if standing.against}
    kept = tuple(result for result in results if result.trial in bad)
    nothing = results.nothing or "nothing that is stored speaks against an environment"
    return Results(kept, results.problems, "" if kept else nothing)


def _text(results: Any, options: argparse.Namespace) -> str:
    from workbench.matrix import Matrix
    from workbench.pages.findings import Findings
    from workbench.planned import Aside, planned

    matrix = Matrix(results, options.columns)
    if options.trials or options.against or len(matrix.rows) <= SHORT:
        return matrix.text()
    counted = planned(results) if len(planned(results)) else results
    narrower = f"{len(matrix.rows)} rows: --trials lists them; --against, --kernel, --environment, --gpu, --mode narrow"
    aside = repr(Aside(results)) if counted is not results else ""
    parts = (repr(Findings(counted)), repr(Matrix(counted, options.columns).counts()), aside, narrower)
    return "\n\n".join(filter(None, parts))


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
