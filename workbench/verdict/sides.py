"""Which two environments are meant: by their names in the results, a part of them, or none. Pure."""

from collections.abc import Iterable

from workbench.results import Result, Results
from workbench.untrusted import natural, plain


def named(results: Results, text: str, *aliases: str) -> str:
    """The environment with this name, or the only one that has it in its name. Raises ValueError."""
    there = _there(results)
    for word in (text, *aliases):
        if word in there:
            return word
    having = [each for each in there if text in each]
    if len(having) == 1:
        return having[0]
    said = "several environments have" if having else "no environment has"
    raise ValueError(
        f"{said} {plain(text)!r} in its name; there are: {', '.join(map(plain, having or there)) or 'none'}"
    )


def two_of(results: Results, baseline: str = "", candidate: str = "") -> tuple[str, str]:
    """The two that are named; where one is not, the first or the last that was measured by turns, or at all."""
    by_turns = _there(each for each in results if each.generation) or _there(results)
    if len(by_turns) < 2 and not (baseline and candidate):
        raise ValueError(
            "a verdict takes two environments; `workbench check BASELINE CANDIDATE` measures them"
        )
    return (
        named(results, baseline) if baseline else by_turns[0],
        named(results, candidate) if candidate else by_turns[-1],
    )


def _there(results: Iterable[Result]) -> list[str]:
    return sorted({each.trial.environment for each in results}, key=natural)
