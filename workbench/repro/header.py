"""What stands on top of a repro file, as comments: what was seen, on what, how to run it, whether it was tried. Pure.

Every line begins with a word or blanks of ours, so that no stored text can be more than a comment: neither an
encoding, nor a table of dependencies that a runner would install.
"""

import textwrap
from collections.abc import Iterator
from typing import Any

from workbench.planning import Kernel
from workbench.repro import recipe
from workbench.results import Result
from workbench.untrusted import MESSAGE, plain

WIDTH = 100
LABEL = 10
MOST_FINDINGS = 5
EXIT_CODES = (
    "exit code 1: the symptom was seen; 0: nothing was; 2: something else was, or it could not be tried"
)


def header(result: Result, kernel: Kernel, file: str, tried: str) -> list[str]:
    """The comment lines."""
    facts = [*_seen(result, kernel), *_found(result.forensic), *_ran_on(result), ("tried", tried)]
    lines = [line for label, text in facts for line in _comment(label, text)]
    made = ["#", "# Make the environment:", *map(_command, recipe.environment(result))]
    run = ["# Run it:", _command(recipe.running(result, file)), f"# {EXIT_CODES}"]
    return [*lines, *made, *run]


def _seen(result: Result, kernel: Kernel) -> Iterator[tuple[str, str]]:
    trial = result.trial
    stage = f" at {result.stage}" if result.stage not in ("", "done") else ""
    yield "trial", f"{trial.id}: {kernel.module.API}, {trial.mode}, {trial.label}"
    yield "seen", f"{result.outcome} ({result.reason}){stage}"
    yield "detail", result.detail
    if result.kernel_hash != kernel.hash:
        yield (
            "note",
            f"seen with other kernel files ({result.kernel_hash or 'not stored'}; here {kernel.hash})",
        )
    for mark in result.marks:
        yield "note", mark


def _found(forensic: dict[str, Any]) -> Iterator[tuple[str, str]]:
    fault, sanitizer = (forensic.get(name) for name in ("fault", "sanitizer"))
    if isinstance(fault, dict):
        home = [str(fault[name]) for name in ("file", "package", "version") if fault.get(name)]
        yield "fault", f"in {fault.get('kernel')}, by {fault.get('by')}; {' '.join(home)}".rstrip("; ")
    findings = sanitizer.get("findings") if isinstance(sanitizer, dict) else None
    for each in findings[:MOST_FINDINGS] if isinstance(findings, list) else []:
        if isinstance(each, dict):
            yield "finding", _finding(each)


def _finding(each: dict[str, Any]) -> str:
    where = f"{each.get('distance_bytes')} bytes {each.get('side')} {each.get('tensor') or 'an allocation'}"
    return (
        f"{each.get('kind')}: {each.get('access')} of {each.get('bytes')} bytes in {each.get('kernel')}, {where} "
        f"of {each.get('of_bytes')} bytes, {each.get('count')} times"
    )


def _ran_on(result: Result) -> Iterator[tuple[str, str]]:
    yield "with", ", ".join(f"{name} {version}" for name, version in recipe.versions(result).items())
    yield (
        "stored",
        f"environment {result.trial.environment}, hash {result.environment_hash[:12] or 'unknown'}",
    )


def _comment(label: str, text: str) -> list[str]:
    shown = plain(text, MESSAGE).encode("ascii", "backslashreplace").decode()
    blank = "#" + " " * (LABEL + 1)
    return textwrap.wrap(
        shown, WIDTH, initial_indent=f"# {label:{LABEL}}", subsequent_indent=blank, break_on_hyphens=False
    )


def _command(text: str) -> str:
    return "#     " + " \\\n#       ".join(
        textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    )
