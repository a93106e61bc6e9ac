"""Results of other machines into one folder: what is there already is recognised, what contradicts it is shown."""

import contextlib
import fcntl
import json
import os
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from workbench.records import slug
from workbench.results import Result
from workbench.store import load, refused, save_all
from workbench.untrusted import part

Identity = tuple[Any, ...]


@dataclass
class Merged:
    """What became of the lines: added, there already, refused, and those of one attempt that say different things.

    `problems` says why lines were refused.
    """

    added: int = 0
    known: int = 0
    refused: int = 0
    conflicts: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def merge(folders: list[Path], into: Path) -> Merged:
    """Add what `into` lacks; of two lines for one attempt the one that is there stays. Raises OSError, ValueError."""
    for folder in folders:
        _check(folder, into)
    into.mkdir(parents=True, exist_ok=True)
    handle = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)  # two at once would each add what the other does
        return _merged(folders, into)
    finally:
        os.close(handle)


def _merged(folders: list[Path], into: Path) -> Merged:
    merged = Merged()
    there = load(into)
    seen = {identity(result): result for result in there}
    new: dict[Path, list[Result]] = defaultdict(list)
    for folder in folders:
        found = load(folder)
        merged.problems += [f"{folder}: {problem}" for problem in found.problems]
        cards = {result.run: card for result in found if (card := _card(result))}
        for result in found:
            before = seen.setdefault(identity(result), result)
            if before is result:
                new[into / place(result, cards.get(result.run, ""))].append(result)
                merged.added += 1
            elif _content(before) == _content(result):
                merged.known += 1
            else:
                merged.conflicts.append(_conflict(before, result, folder))
    merged.refused = refused(merged.problems)
    for file, results in new.items():
        save_all(results, file)
    return merged


def identity(result: Result) -> Identity:
    """By what one attempt is known. Lines of a plan say nothing of a kernel, so each reason is one of its own."""
    return result.known_by if result.attempt else (*result.known_by, result.reason)


def place(result: Result, card: str) -> Path:
    """The file that the runner would have chosen: one a card and environment. A line of a plan knows no card."""
    where = slug(f"{result.trial.gpu} {card}") if card else slug(result.trial.gpu)
    tail = f"-{slug(result.environment_hash[:8])}" if result.environment_hash else ""
    return Path(where) / f"{slug(result.trial.environment)}{tail}.jsonl"


def _card(result: Result) -> str:
    return str(part(result.provenance, "gpu", "uuid_hash") or "")


def _check(folder: Path, into: Path) -> None:
    if not folder.is_dir():
        raise ValueError(f"no folder {folder}")
    mine, other = into.resolve(), folder.resolve()
    if mine == other or mine in other.parents:
        raise ValueError(f"{folder} is in {into} already; its lines are read from there")
    if other in mine.parents:
        raise ValueError(f"{into} is in {folder}: its lines would be read twice; name a folder beside it")


def _content(result: Result) -> str:
    return json.dumps(asdict(result), sort_keys=True)


def _conflict(before: Result, result: Result, folder: Path) -> dict[str, Any]:
    old, new = asdict(before), asdict(result)
    return {
        **old["trial"],
        "run": result.run,
        "attempt": result.attempt,
        "kept": f"{before.outcome} ({before.reason})",
        "other": f"{result.outcome} ({result.reason})",
        "differ": sorted(name for name in old if old[name] != new[name]),
        "folder": str(folder),
    }
