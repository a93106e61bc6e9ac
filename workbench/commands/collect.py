"""Say what became of a submission's remaining trials, or merge results of other machines."""

import argparse
import json
from pathlib import Path
from typing import Any

from workbench.commands._shared import FINE, FOUND, say_unread
from workbench.commands._submission import chosen, exit_code, facts, text

EXAMPLES = """examples:
  workbench collect                                  # the newest submission: what has no result becomes not_run
  workbench collect colleague/results --into results/local
  workbench collect node1/results node2/results --into results/local --json

what a colleague measured keeps its provenance; a line that is there already is recognised, and two that contradict
each other about one attempt are shown: the one that was there stays. A line that cannot be read is refused, and
stderr says why; the others are added
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folders", nargs="*", metavar="DIR", help="results of other machines (default: close a submission)")
    add("--into", default="", metavar="DIR", help="where to add them (default: that of --results)")
    add("--submission", default="", metavar="ID", help="which submission to close (default: the newest)")
    add("--results", default="results/local", metavar="DIR", help="default: results/local")
    add("--json", action="store_true", help="what became of it on stdout")


def run(options: argparse.Namespace) -> int:
    """1 if lines contradict each other or were refused; without DIR as `workbench status`."""
    return _merge(options) if options.folders else _close(options)


def _close(options: argparse.Namespace) -> int:
    from workbench import cluster

    submission = chosen(options)
    states = cluster.states(submission)
    cluster.unfinished(submission, states)
    rows = facts(submission, states)
    print(json.dumps(rows, indent=1) if options.json else text(submission, rows))
    return exit_code(rows)


def _merge(options: argparse.Namespace) -> int:
    from workbench import cluster

    into = Path(options.into or options.results)
    merged = cluster.merge([Path(folder) for folder in options.folders], into)
    say_unread(merged.problems)
    print(json.dumps(vars(merged), indent=1) if options.json else _says(merged, into))
    return FOUND if merged.conflicts or merged.refused else FINE


def _says(merged: Any, into: Path) -> str:
    from workbench.untrusted import MESSAGE, plain

    lines = [f"{merged.added} lines added to {into}, {merged.known} were there already"]
    if merged.refused:
        lines.append(f"{merged.refused} lines refused: why is said on stderr; all others are kept")
    for each in merged.conflicts:
        words = (each["environment"], each["kernel"], str(each["case"]), each["mode"], each["gpu"])
        lines.append(
            f"conflict: {' | '.join(words)}, attempt {each['attempt']} of run {each['run']}: kept {each['kept']}, "
            f"{each['folder']} has {each['other']}; they differ in {', '.join(each['differ'])}"
        )
    return "\n".join(plain(line, MESSAGE) for line in lines)
