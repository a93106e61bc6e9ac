"""Write the pages."""

import argparse
import json
from pathlib import Path

from workbench.commands._shared import FINE, FOUND, filters

EXAMPLES = """examples:
  workbench report --results results --results results/local --site site
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--results", action="append", default=[], metavar="DIR", help="default: results")
    parser.add_argument("--notebooks", default="notebooks", metavar="DIR")
    parser.add_argument("--site", default="site", metavar="DIR", help="where the pages go (default: site)")
    filters(parser)
    parser.add_argument("--json", action="store_true", help="the pages and what became of them on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if a page could not be made; the others are there."""
    from workbench import report

    folders = [str(Path(folder).resolve()) for folder in options.results or ["results"]]
    parameters = {
        "results": [folder for folder in folders if Path(folder).is_dir()],
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
