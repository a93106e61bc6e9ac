"""Judge what a failed attempt printed: one JSON line for each record."""

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from workbench.commands._shared import FINE
from workbench.reading import read

EXAMPLES = """examples:
  workbench judge report.json                     # one record, a list of them, or one a line
  workbench judge reports/*.json | grep version_skew

a record has these fields, all optional: id, kind, gpu, sm, versions, stderr, stdout, measurements,
returncode_or_signal, timed_out_by_harness; others are not read
"""
READ = ("id", "kind", "gpu", "sm", "versions", "stderr", "stdout", "measurements", "returncode_or_signal")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="JSON files, or - for standard input")
    parser.add_argument(
        "--json",
        action="store_true",
        help="changes nothing: the output is always one JSON line for each record",
    )


def run(options: argparse.Namespace) -> int:
    """0; a text that no rule can place is `unknown`."""
    from workbench import reasons

    for file in options.files:
        for record in _records(file):
            asked = {name: record[name] for name in (*READ, "timed_out_by_harness") if name in record}
            reason, detail = reasons.classify(asked)
            print(json.dumps({"id": record.get("id"), "class": reason, "detail": detail}))
    return FINE


def _records(file: str) -> Iterator[dict[str, Any]]:
    text = sys.stdin.read() if file == "-" else read(file).decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        found = [_line(file, line) for line in text.splitlines() if line.strip()]
    for record in found if isinstance(found, list) else [found]:
        if not isinstance(record, dict):
            raise ValueError(f"{file} holds something that is no record: {str(record)[:60]!r}")
        yield record


def _line(file: str, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as problem:
        raise ValueError(f"{file} is neither JSON nor JSON lines: {problem}") from problem
