"""What `compare` and `check` share: how a verdict is asked for, shown, and turned into an exit code."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.commands._shared import FINE, FOUND, TOO_LITTLE

FORMATS = ("table", "markdown", "json", "html")
LOOKS = """a policy file, all of it optional (the values shown are the default, but for families and tables):
  rule = "default"         # quick, default or thorough: how a difference in time gets its word
  margin = 0.01            # a share: what counts as the same (default: the rule's, twice that below 20 us)
  slower = 0.0             # one trial may become so much slower
  slower_overall = 0.01    # and so much all trials of a GPU family together, by their weights
  families = ["SM90"]      # those that decide; others are shown (default: all that have results)
  [[weight]]               # kernel, mode and case say which trials; the last that fits counts, and 1 without any
  kernel = "trtllm_attention"
  case = { batch = 64 }
  weight = 3               # 0: shown, has no vote
  [[required]]             # trials that must have an answer (default: all that have a weight)
  kernel = "trtllm_attention"
"""
POLICY_HELP = "which trials count, how much, and how much slower one may become: a TOML file (below)"


def verdict_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--current",
        metavar="E",
        help="the environment in use (default: the baseline); the candidate: KEEP or REVERT",
    )
    add("--policy", metavar="FILE", help=POLICY_HELP)
    add(
        "--format",
        choices=FORMATS,
        default="table",
        help="markdown fits a comment of a pull request (default: table)",
    )
    add(
        "--pages",
        metavar="URL",
        default="",
        help="where the pages can be read: markdown links its trials to them",
    )


def policy_of(options: argparse.Namespace) -> Any:
    from workbench import verdict

    return verdict.load_policy(options.policy) if options.policy else verdict.DEFAULT


def default_folders() -> list[str]:
    """The committed results, and one's own where there are some."""
    return [folder for folder in ("results", "results/local") if Path(folder).is_dir()] or ["results"]


def alias(text: str) -> list[str]:
    """The name of the environment that a spec means; nothing where it is no spec."""
    from workbench import environments

    try:
        return [environments.parse(text).name]
    except ValueError:
        return []


def show(found: Any, options: argparse.Namespace, more: Sequence[Any] = (), **facts: Any) -> int:
    """Prints the verdict in the wanted format, with parts and facts of the caller's own."""
    from workbench import verdict

    if options.json or options.format == "json":
        print(json.dumps({**verdict.facts(found), **facts}, indent=1))
    elif options.format == "markdown":
        print(verdict.markdown(found, options.pages, more), end="")
    else:
        print(verdict.html(found, more) if options.format == "html" else verdict.text(found, more))
    return exit_code(found)


def exit_code(found: Any) -> int:
    from workbench.verdict import Answer

    if found.answer == Answer.NEED_DATA:
        return TOO_LITTLE
    return FOUND if found.answer in (Answer.HOLD, Answer.REVERT) else FINE
