"""What a check would do, and how long it would take: `workbench check --plan-only`."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.commands._shared import FINE


def exist(sides: Sequence[Any], wheels: Path | None, say: Callable[[str], None]) -> None:
    """Raises ValueError where an environment names a release that there is not."""
    from workbench import environments

    python = ".".join(map(str, sys.version_info[:2]))
    for each in sides:
        try:
            lacking = environments.absent(each, python, wheels)
        except environments.BuildError as problem:
            say(f"whether there is {each.name} is not known: {problem}")
            continue
        for requirement, nearest in lacking.items():
            place = wheels or "the package index"
            near = f"; nearest: {', '.join(nearest)}" if nearest else ""
            raise ValueError(f"there is no {requirement} in {place} for Python {python}{near}")


def show(asked: Any, stored: Any, options: argparse.Namespace) -> int:
    """Nothing is built for it, so what is stored may be of other contents than will be found."""
    from workbench import checking

    todo = checking.open_pairs(asked, stored)
    seconds, unknown = checking.estimate(asked, todo, stored)
    plan = {
        "baseline": asked.baseline.name,
        "candidate": asked.candidate.name,
        "trials": len(asked.planned) // 2,
        "open": len(todo) // 2,
        "processes": asked.generations,
        "seconds": round(seconds),
        "of_unknown_time": unknown // 2,
        "site": options.site,
    }
    print(json.dumps(plan, indent=1) if options.json else _text(plan))
    return FINE


def _text(plan: dict[str, Any]) -> str:
    measured = (
        f"{plan['open']} of {plan['trials']} trials are open; both sides by turns, {plan['processes']} processes each"
        if plan["trials"]
        else "nothing: no GPU here, and no kernel that runs on the CPU; the verdict is from stored results"
    )
    known = plan["open"] - plan["of_unknown_time"]
    unknown = f"; nothing is stored of {plan['of_unknown_time']} of them" if plan["of_unknown_time"] else ""
    took = (
        f"{plan['seconds']} s by what is stored{unknown}" if known else "not known: nothing is stored of them"
    )
    lines = [
        f"build and read  {plan['baseline']}",
        f"                {plan['candidate']}",
        f"measure         {measured}",
        f"time            {took}" if plan["open"] else "",
        "again           what is too close to call, with up to three times the processes"
        if plan["open"]
        else "",
        "again           each regression, alone if it came to a call, before it is called one",
        "again           all trials that are slower only together, before that is called a regression",
        f"then            the verdict{', and pages in ' + plan['site'] if plan['site'] else ''}",
    ]
    return "\n".join(filter(None, lines))
