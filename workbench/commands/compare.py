"""Bump the pin, hold it or go back: the verdict on two environments, from stored results."""

import argparse
from dataclasses import replace
from pathlib import Path

from workbench.commands import _verdict
from workbench.commands._shared import check_kernels, load_results, say_unread

EXAMPLES = f"""examples:
  workbench compare --baseline sglang==0.5.11 --candidate sglang==0.5.12
  workbench compare results/h200-by-turns --baseline 0.6.8.post1 --candidate 0.6.11.post1 --format markdown
  workbench compare results/h200-by-turns --baseline 0.6.8 --candidate 0.6.11 --current 0.6.11 --policy policy.toml

an environment is named as in the results, by a part that no other name there has, or as `run --environment` takes it
0 is BUMP or KEEP, 1 HOLD or REVERT, 3 NEED DATA

{_verdict.LOOKS}"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", nargs="*", help="folders (default: results, and results/local where it is)")
    add("--baseline", metavar="E1", required=True, help="what the candidate is compared with")
    add("--candidate", metavar="E2", required=True)
    for name in ("kernel", "gpu", "mode"):
        add(f"--{name}", action="append", default=[], help="only this one (again for more)")
    add("--json", action="store_true", help="the same as --format json")
    _verdict.verdict_options(parser)


def run(options: argparse.Namespace) -> int:
    """0 BUMP or KEEP, 1 HOLD or REVERT, 3 NEED DATA."""
    from workbench import verdict
    from workbench.results import check_modes

    policy = _verdict.policy_of(options)
    every = load_results(options.results or _verdict.default_folders())
    say_unread(every.problems)
    check_modes(options.mode, {result.trial.mode for result in every})
    check_kernels(options.kernel, every)
    baseline, candidate = (
        verdict.named(every, text, *_verdict.alias(text)) for text in (options.baseline, options.candidate)
    )
    current = (
        verdict.named(every, options.current, *_verdict.alias(options.current)) if options.current else ""
    )
    chosen = every.only(kernel=options.kernel, gpu=options.gpu, mode=options.mode)
    found = verdict.judge(chosen, baseline, candidate, current, policy)
    return _verdict.show(replace(found, words=_words(options)), options)


def _words(options: argparse.Namespace) -> tuple[str, ...]:
    """The options of a check that judges by the same policy and results; it reads what is below `results` anyhow."""
    policy = ("--policy", options.policy) if options.policy else ()
    return (
        *policy,
        *(word for folder in options.results if _elsewhere(folder) for word in ("--also", folder)),
    )


def _elsewhere(folder: str) -> bool:
    from workbench.store import APART

    first, *others = Path(folder).parts or (".",)
    return first != "results" or bool({*others} & (APART - {"local"}))
