"""Find the release, or the package of two environments, with which a trial is wrong, crashes, is missing or slower."""

import argparse
import json
import traceback
from functools import partial
from typing import Any

from workbench.commands import _bisected
from workbench.commands import run as run_command
from workbench.commands._shared import FINE, FOUND, TOO_LITTLE, UNUSABLE, aside

USAGE = (
    "workbench bisect --kernel K --case C [--mode M] --good E1 --bad E2 [--over releases|lock] [--until WHAT]\n"
    "       workbench bisect --step --kernel K --case C [--mode M] --python PATH [--until WHAT] [--good E1]"
)
EXAMPLES = """examples:
  workbench bisect --kernel fp4_quantize --case tokens=16,hidden=2880,layout=swizzled \\
      --good flashinfer==0.6.7 --bad flashinfer==0.6.11.post1 --plan-only
  workbench bisect --kernel trtllm_attention --case batch=16,length=1024,page=16 --mode graph \\
      --until slower --good flashinfer==0.6.7 --bad flashinfer==0.6.11.post1
  workbench bisect --kernel fp4_quantize --case tokens=16,hidden=2880,layout=swizzled --over lock \\
      --good sglang==0.5.11 --bad sglang==0.5.12
  git bisect run workbench bisect --step --python .venv/bin/python --kernel fp4_quantize \\
      --case tokens=16,hidden=2880,layout=swizzled

over releases the ends differ in one version, and those between are asked, by halves; over a lock, packages of the bad
end are put into the good one, until no fewer make it bad. Both ends are asked first. What cannot be built or imported,
and what stays flaky, cannot be told and is passed by. Attempts are stored: stopped, the same command goes on.
1 found, 2 an end is the opposite of what was said, 3 an end, or which one of a few it is, cannot be told
--step, first of the options, answers as `git bisect run` wants it: 0 good, 1 bad, 125 cannot tell, 128 to stop
"""
ABORT = 128  # git takes anything from 1 to 127 but 125 for bad


WITHOUT = (
    "--plan", "--cases", "--bundle", "--sm", "--interleave", "--arms", "--again", "--dry-run",
)  # fmt: skip


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--step", action=_Step, nargs=0, default=False, help="ask one environment, for `git bisect run`")
    add(
        "--case",
        metavar="C",
        help="tokens=16,hidden=2880 names one of the kernel's; a JSON object is one of your own",
    )
    add("--good", metavar="E1", help="an environment as `run --environment` takes it")
    add("--bad", metavar="E2")
    add(
        "--over",
        choices=("releases", "lock"),
        help="default: releases where the ends differ in one version, else lock",
    )
    add(
        "--until",
        choices=("any", "wrong", "crash", "missing", "slower"),
        default="any",
        help="what is bad: any of wrong, crash and missing (default), or slower than the good end, by turns",
    )
    add(
        "--repeats",
        type=int,
        default=2,
        metavar="N",
        help="attempts that must agree, a process each; N more where they do not (default: 2)",
    )
    add("--margin", type=float, metavar="SHARE", help="how much slower counts (default: the effort's rule)")
    add("--plan-only", action="store_true", help="say what would be asked, and how long it would take")
    add("--also", action="append", default=[], metavar="DIR", help="more folders of stored results to use")
    run_command.arguments(parser, WITHOUT)


class _Step(argparse.Action):
    """From here on a mistake in the options must not end with 2, which git takes for bad."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *_: Any) -> None:
        namespace.step = True
        parser.exit = partial(_leave, parser)  # type: ignore[method-assign,assignment]


def _leave(parser: argparse.ArgumentParser, status: int = 0, message: str | None = None) -> None:
    argparse.ArgumentParser.exit(parser, ABORT if status else 0, message)


def run(options: argparse.Namespace) -> int:
    """1 found, 2 an end is the opposite, 3 not to be told; with --step as git bisect wants it."""
    try:
        return _step(options) if options.step else _bisect(options)
    except KeyboardInterrupt:
        aside("interrupted; run the same command again to go on")
        return ABORT if options.step else TOO_LITTLE


def _bisect(options: argparse.Namespace) -> int:
    from workbench import bisecting

    asked, (good, bad) = _bisected.asked(options), _bisected.ends(options)
    along = None if options.over == "lock" else bisecting.axis(options.good, options.bad)
    if options.over == "releases" and along is None:
        raise ValueError("--over releases: the ends must differ in one exact version alone; or --over lock")
    if along is None and options.plan_only:
        return _plan(asked, bisecting.moves(asked, good, bad), {}, options)
    if along is None:
        return _show(asked, bisecting.over_lock(asked, good, bad, _say), options)
    between = _bisected.candidates(along, options)
    if options.plan_only:
        return _plan(asked, between.versions[1:-1], between.left_out, options)
    made = _bisected.maker(along, options)
    return _show(asked, bisecting.over_releases(asked, between, made, _say), options)


def _step(options: argparse.Namespace) -> int:
    """Whatever stops it must not look like an answer."""
    from workbench.bisecting import Answer, fact, probe

    try:
        found = probe(*_bisected.step(options))
    except (ValueError, OSError) as problem:
        aside(str(problem))
        return ABORT
    except Exception:
        traceback.print_exc()
        return ABORT
    print(json.dumps(fact(found), indent=1) if options.json else f"{found.answer}: {found.why}")
    return {Answer.GOOD: 0, Answer.BAD: 1, Answer.UNKNOWN: 125}[found.answer]


def _plan(asked: Any, between: Any, left_out: Any, options: argparse.Namespace) -> int:
    from workbench import bisecting
    from workbench.store import load

    plan = bisecting.plan(asked, between, left_out, load(*asked.folders))
    print(json.dumps(vars(plan), indent=1) if options.json else str(plan))
    return FINE


def _show(asked: Any, found: Any, options: argparse.Namespace) -> int:
    from workbench import bisecting

    facts = {
        "kernel": asked.kernel.name,
        "case": asked.kernel.cases[0],
        "mode": asked.mode,
        "until": asked.until,
    }
    print(json.dumps(facts | bisecting.facts(found), indent=1) if options.json else bisecting.text(found))
    if found.contradicted:
        return UNUSABLE
    return FOUND if found.exact else TOO_LITTLE


def _say(probe: Any) -> None:
    aside(f"{probe.answer}: {probe.environment}: {probe.why}")
