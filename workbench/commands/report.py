"""Write the pages."""

import argparse
import json
from pathlib import Path

from workbench.commands._shared import FINE, FOUND, existing, filters, load_results

EXAMPLES = """examples:
  workbench report --results results --results results/local --site site

1 means here that a page could not be made, whatever the results on the pages say; `workbench show` judges those.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", action="append", default=[], metavar="DIR", help="default: results")
    parser.add_argument("--notebooks", default="notebooks", metavar="DIR")
    parser.add_argument("--site", default="site", metavar="DIR", help="where the pages go (default: site)")
    filters(parser)
    parser.add_argument("--json", action="store_true", help="the pages and what became of them on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if a page could not be made, and only then: what the pages say is no part of it. The others are there."""
    from workbench import report
    from workbench.results import check_modes

    folders = existing(options.results or ["results"])
    if options.mode:
        check_modes(options.mode, {result.trial.mode for result in load_results(folders)})
    parameters = {
        "results": [str(Path(folder).resolve()) for folder in folders],
        "kernels": options.kernel,
        "environments": options.environment,
        "gpus": options.gpu,
        "modes": options.mode,
    }
    made = report.render_all(Path(options.notebooks), Path(options.site), parameters)
    if options.json:
        print(json.dumps(made.facts(), indent=1))
    else:
        print(made)
    return FINE if made.complete else FOUND
