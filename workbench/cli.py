"""The command `workbench`: thin, and quick to start, for it imports only what the command at hand needs.

Exit codes, the same for every command: 0 nothing against, 1 something found, 2 bad usage or it could not run,
3 not enough data.
"""

import argparse
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from workbench import __version__, commands
from workbench.commands._shared import TOO_LITTLE, UNUSABLE
from workbench.files import FULL

ROOM = "; make room and run the same command again: what is stored stays"
EXIT_CODES = (
    "exit codes: 0 nothing against, 1 something found, 2 bad usage or it could not run, 3 not enough data"
)
ABOUT = (
    "Should the FlashInfer pin move? Times its kernels across versions and GPUs, each version in an environment of "
    "its own, and shows where they break. `run` measures, `show` and `report` show what is stored; "
    "`workbench COMMAND --help` has examples."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    _settle_streams()
    try:
        parser = _parser()  # imports every command: a while to be stopped in
        if not (sys.argv[1:] if arguments is None else arguments):
            parser.print_help(sys.stderr)
            return UNUSABLE
        options, extra = parser.parse_known_args(arguments)
        if extra:
            options.parser.error(_left_over(extra))
        return options.run(options)
    except BrokenPipeError:  # whoever read us has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return UNUSABLE
    except ValueError as problem:
        print(f"workbench: {problem}", file=sys.stderr)
        return UNUSABLE
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        more = ROOM if problem.errno in FULL else ""
        print(f"workbench: {problem.strerror or problem}{where}{more}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:
        print("workbench: interrupted", file=sys.stderr)
        return TOO_LITTLE
    except Exception:  # our own mistake: it must not look like 1, something found
        traceback.print_exc()
        return UNUSABLE


def _settle_streams() -> None:
    """Streams may be closed, or know fewer letters than results have."""
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # else a worker's pipe would have the number of a standard stream, and be lost in the worker
    os.close(handle)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _left_over(words: Sequence[str]) -> str:
    """A shell makes several words of one that has blanks and no quotes."""
    stray = [word for word in words if not word.startswith("-")]
    quotes = "; an environment of several requirements stands in quotes: --environment 'A==1 B==2'"
    return f"unrecognized arguments: {' '.join(words)}" + (quotes if stray else "")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="workbench", description=ABOUT, epilog=EXIT_CODES)
    parser.add_argument("--version", action="version", version=f"workbench {__version__}")
    added = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in sorted(found.name for found in pkgutil.iter_modules(commands.__path__)):
        if not name.startswith("_"):
            _add(added, name)
    return parser


def _add(added: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str) -> None:
    command = import_module(f"workbench.commands.{name}")
    does = (command.__doc__ or "").partition("\n")[0]
    parser = added.add_parser(
        name,
        help=does,
        usage=getattr(command, "USAGE", None),
        description=does,
        epilog=f"{command.EXAMPLES}\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.arguments(parser)
    parser.set_defaults(run=command.run, parser=parser)
