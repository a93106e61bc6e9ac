"""What can be read of two environments without calling anything: drift of called functions, and what is out of step."""

import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench import doctor, drift
from workbench.drift.tree import Tree
from workbench.environments import BuildError, Built
from workbench.untrusted import plain
from workbench.verdict.parts import Part

FIND = """
import importlib.util, sys
found = importlib.util.find_spec(sys.argv[1])
print((list(found.submodule_search_locations or []) or [""])[0] if found else "")
"""
FIND_LIMIT_S = 60
MOST = 200  # characters of a sentence


@dataclass(frozen=True)
class Reading:
    """`called` are changes of functions that our kernels call, `counts` all changes by kind.

    `skews` are by side; `unread` says what could not be read, and why.
    """

    called: tuple[drift.Change, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    skews: dict[str, tuple[doctor.Skew, ...]] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def parts(self) -> list[Part]:
        rows = tuple(
            (plain(each.function), each.change, plain(each.parameter) or "-", plain(each.detail, MOST))
            for each in self.called
        )
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        differs = [f"All that differs for callers, by kind: {kinds or 'nothing'}."]
        lines = (*self.unread, *([] if self.unread and not self.counts else differs))
        title = f"Read, not run: {self._counted() if differs[0] in lines else 'nothing'}; no vote"
        heads = ("function", "change", "parameter", "detail")
        found = [Part(title, lines, heads, rows, folded=not (rows or self.unread))]
        skewed = tuple(
            (side, plain(each.what, MOST), plain(each.fix, MOST))
            for side, some in self.skews.items()
            for each in some
        )
        if skewed:
            found.append(
                Part(f"{len(skewed)} things out of step; no vote", (), ("side", "what", "fix"), skewed)
            )
        return found

    def _counted(self) -> str:
        """What neither side has is no change."""
        count = sum(each.change != "function_unknown" for each in self.called)
        nowhere = len(self.called) - count
        beside = f", and {nowhere} function{'s' * (nowhere != 1)} that neither side has" if nowhere else ""
        return f"{count} change{'s' * (count != 1)} of functions that are called here{beside}"

    def facts(self) -> dict[str, Any]:
        return {
            "called": [each.facts() for each in self.called],
            "counts": dict(self.counts),
            "skews": {side: [each.facts() for each in some] for side, some in self.skews.items()},
            "unread": list(self.unread),
        }


def examine(baseline: Built, candidate: Built, apis: Sequence[str]) -> Reading:
    """Reads files of both environments; `apis` are the dotted names that are called."""
    sides = {"baseline": baseline, "candidate": candidate}
    called: list[drift.Change] = []
    counts: Counter[str] = Counter()
    unread = []
    for top in sorted({api.partition(".")[0] for api in apis}):
        mine = [api for api in dict.fromkeys(apis) if api.partition(".")[0] == top]
        folders = {side: _folder(built, top) for side, built in sides.items()}
        lacking = [side for side, folder in folders.items() if folder is None]
        if lacking:
            unread.append(f"{top} has no files to read in the {' and the '.join(lacking)}.")
            continue
        old, new = (drift.Library(Tree(folder.parent, only=top)) for folder in folders.values() if folder)
        counts.update(row.change for row in drift.drift(old, new))
        called += [row for api in mine for row in _of(old, new, api)]
    return Reading(tuple(called), counts, _skews(sides), tuple(unread))


def _of(old: drift.Library, new: drift.Library, api: str) -> list[drift.Change]:
    try:
        return drift.drift(old, new, [api])
    except ValueError:  # neither has it
        return [drift.Change(api, "function_unknown", detail="neither side has a function of this name")]


def _folder(built: Built, top: str) -> Path | None:
    """Where the package lies; it is looked for and not imported."""
    try:
        done = subprocess.run(
            [built.python, "-I", "-c", FIND, top], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=FIND_LIMIT_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = done.stdout.strip().rpartition("\n")[2]
    return Path(said) if said and Path(said).is_dir() else None


def _skews(sides: dict[str, Built]) -> dict[str, tuple[doctor.Skew, ...]]:
    found = {}
    for side, built in sides.items():
        try:
            report = doctor.examine(built.environment.name, doctor.take(built.python, built.variables))
        except BuildError:
            continue
        found[side] = tuple(report.against)
    return found
