"""Which environments results know: one for each name and contents, since a name may be of several locks."""

from collections.abc import Mapping
from typing import Any

from workbench.results import Result, Results
from workbench.untrusted import natural, plain

Contents = tuple[str, str]


def named(results: Results) -> dict[str, list[Result]]:
    """Name -> its results; with a piece of the lock's hash, or the GPU, where a name has several contents.

    Results that know no contents (a plan's line, an environment that was not built) stay with their name, and
    are left out where it has contents.
    """
    return results.once("contents", _named)


def _named(results: Results) -> dict[str, list[Result]]:
    groups: dict[str, dict[Contents, list[Result]]] = {}
    read: dict[int, Contents] = {}  # by the object: attempts of one run share it
    for result in sorted(results, key=lambda result: result.when):
        lock = id(result.provenance.get("environment"))
        contents = read[lock] if lock in read else read.setdefault(lock, _contents(result))
        groups.setdefault(result.trial.environment, {}).setdefault(contents, []).append(result)
    found: dict[str, list[Result]] = {}
    for name in sorted(groups, key=natural):
        known = {contents: each for contents, each in groups[name].items() if any(contents)} or groups[name]
        for contents, members in known.items():
            found[_free(name if len(known) == 1 else _told_apart(name, contents, members), found)] = members
    return found


def newest(named: Mapping[str, Any], name: str) -> str | None:
    """The entry that a name means: itself, or the last of its contents."""
    return next(
        (each for each in reversed(list(named)) if each == name or each.startswith(f"{name} [")), None
    )


def _contents(result: Result) -> Contents:
    """Its hash, and its packages as text: one hash says nothing where it is missing, or was made up."""
    lock = result.provenance.get("environment", {})
    held = [lock.get(kind) for kind in ("packages", "inherited")]
    if not any(isinstance(each, dict) and each for each in held):
        return "", ""
    return result.environment_hash, repr([sorted(each.items()) for each in held if isinstance(each, dict)])


def _told_apart(name: str, contents: Contents, members: list[Result]) -> str:
    return f"{name} [{plain(contents[0][:8] or members[0].trial.gpu, 40)}]"


def _free(name: str, taken: Mapping[str, Any]) -> str:
    tries = (name, *(f"{name} [{number}]" for number in range(2, len(taken) + 3)))
    return next(each for each in tries if each not in taken)
