"""What the commands about submissions share: which one is meant, and how its blocks stand, as text and as facts."""

import argparse
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.commands import _shared
from workbench.commands._shared import TOO_LITTLE


def which(parser: argparse.ArgumentParser) -> None:
    """Which submission is meant."""
    parser.add_argument("submission", nargs="?", default="", metavar="ID", help="default: the newest")
    parser.add_argument("--results", default="results/local", metavar="DIR", help="default: results/local")
    parser.add_argument("--json", action="store_true", help="one object a block on stdout")


def chosen(options: argparse.Namespace) -> Any:
    """Raises ValueError where there is none."""
    from workbench import cluster

    return cluster.newest(Path(options.results), options.submission)


def facts(submission: Any, states: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One object a block: how it stands, and the outcomes that are stored of it."""
    return [_facts(submission, block, states[block.name]) for block in submission.blocks]


def _facts(submission: Any, block: Any, state: Any) -> dict[str, Any]:
    from workbench.results import told_as
    from workbench.store import load

    trials = list(load(submission.lines(block)).trials().values())
    counts = Counter(told_as(standing.result.trial, standing.outcome) for standing in trials)
    return {
        "block": block.name,
        "family": block.family,
        "state": state.engine.value,
        "why": state.why,
        "job": state.job or submission.jobs.get(block.name, ""),
        "planned": len(block.trials),
        "outcomes": dict(sorted(counts.items())),
        "against": sum(standing.against for standing in trials),
    }


def text(submission: Any, rows: list[dict[str, Any]]) -> str:
    """A line a block, under the submission's name."""
    from workbench import cluster
    from workbench.untrusted import MESSAGE, plain

    lines = [f"submission {submission.id} ({submission.engine}), results in {submission.results}"]
    for row in rows:
        counts = ", ".join(f"{count} {outcome}" for outcome, count in row["outcomes"].items())
        why = f"  {row['why']}" if row["why"] else ""
        job = f"job {row['job']}" if row["job"] else "no job"
        lines.append(
            f"{row['block']}  {job}  {row['state']}  {counts or 'nothing'} of {row['planned']} trials{why}"
        )
    if pages := cluster.pages(submission):
        lines.append(f"pages in {submission.site}: {pages.engine.value}  {pages.why}".rstrip())
    return "\n".join(plain(line, MESSAGE) for line in lines)


def exit_code(rows: list[dict[str, Any]]) -> int:
    """3 while something is to come, then as `workbench show` has it."""
    if any(row["state"] in ("waiting", "running", "unknown") for row in rows):
        return TOO_LITTLE
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row["outcomes"])
    return _shared.exit_code(counts, sum(row["against"] for row in rows))
