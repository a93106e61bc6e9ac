"""What several commands share: exit codes, words to the user, filters, stack options, and reading results by folder."""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FINE, FOUND, UNUSABLE, TOO_LITTLE = 0, 1, 2, 3


def aside(text: str) -> None:
    """Says it on stderr, so that stdout holds the answer alone."""
    from workbench.untrusted import MESSAGE, lines

    print(f"workbench: {lines(text, 4 * MESSAGE)}", file=sys.stderr)


def say_unread(problems: Sequence[str]) -> None:
    """What of stored results could not be read."""
    for problem in problems:
        aside(f"not used: {problem!r}")


def stack_options(add: Any) -> None:
    """Which stack is meant, and as of when."""
    add("--stacks", metavar="FILE", help="named stacks of your own, a TOML file")
    add("--as-of", metavar="DATE", help="resolve as on the evening of that day, such as 2026-05-14")
    add(
        "--torch",
        choices=("inherit", "isolated"),
        help="isolated: install the torch that the stack pins, which is gigabytes (default: inherit)",
    )


def filters(parser: argparse.ArgumentParser) -> None:
    """Only some kernels, environments, GPUs or modes."""
    for name in ("kernel", "environment", "gpu", "mode"):
        parser.add_argument(f"--{name}", action="append", default=[], help="only this one (again for more)")


def folder(text: str | None, option: str) -> Path | None:
    """The folder that an option names. Raises ValueError where there is none."""
    if text is not None and not Path(text).is_dir():
        raise ValueError(f"{option} {text}: no such folder")
    return Path(text) if text is not None else None


def wheels_in(text: str | None) -> Path | None:
    """The folder that --wheels names. Raises ValueError where there is none, or what it calls a wheel has no end.

    Whoever installs from there would wait for a pipe's writer.
    """
    found = folder(text, "--wheels")
    for each in found.glob("*.whl") if found else ():
        if each.exists() and not (each.is_file() or each.is_dir()):
            raise ValueError(f"--wheels {text}: {each.name!r} is a pipe, a socket or a device, and no wheel")
    return found


def positive(text: str) -> float:
    """A number above 0 that is not infinite, for argparse."""
    try:
        if 0 < float(text) < float("inf"):
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")


def python_version(text: str) -> str:
    """A Python for which there are wheels, such as 3.12, for argparse."""
    if not re.fullmatch(r"3\.\d{1,2}(\.\d{1,2})?", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no Python; write it like 3.12")
    return text


def exit_code(outcomes: Mapping[str, int], against: int) -> int:
    """The same for stored results and for a run; `against` is how many trials speak against an environment."""
    from workbench.results import COMPILED, Outcome

    if against:
        return FOUND
    fine = outcomes.get(Outcome.OK) or outcomes.get(COMPILED)
    return FINE if fine and not outcomes.get(Outcome.NOT_RUN) else TOO_LITTLE


def check_kernels(wanted: Sequence[str], results: Any) -> None:
    """Raises ValueError for a name that no kernel has, stored or of the workbench, with those that are like it."""
    from difflib import get_close_matches

    from workbench import kernels

    known = sorted({*kernels.names(), *(result.trial.kernel for result in results)})
    for name in wanted:
        if name not in known:
            like = [each for each in known if name in each] or get_close_matches(name, known, n=5)
            raise ValueError(
                f"no kernel {name!r}; {'like it is' if like else 'there are'} {', '.join(like or known)}"
            )


def load_results(folders: Sequence[str]) -> Any:
    """All attempts under the folders. Raises ValueError where there is no such folder."""
    from workbench.store import load

    return load(*existing(folders))


def existing(folders: Sequence[str]) -> Sequence[str]:
    """The folders. Raises ValueError where one is not there."""
    missing = [folder for folder in folders if not Path(folder).is_dir()]
    if missing:
        raise ValueError(f"no folder {missing[0]}; `workbench run` makes results/local")
    return folders
