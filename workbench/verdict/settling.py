"""What would settle an open trial: the command that measures it, and what must be seen to first. Pure."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench import kernels
from workbench.comparison import RULES
from workbench.reasons.meanings import MEANINGS
from workbench.results import Results
from workbench.untrusted import MESSAGE, plain
from workbench.verdict.deciding import Family, Verdict
from workbench.verdict.pair import Pair
from workbench.verdict.word import OPEN

MOST_KERNELS = 6
FIRST = {
    "calm": "The card was not alike for both sides (clocks, warmth, other work): let it cool, and run nothing else.",
    "host timer": "Their times hold the host's work; a graph shows the device's.",
    "by turns": "The two were not measured by turns in one run.",
    "noise": "More processes a side would tell.",
    "together": "What was slower together did not come again; more processes a side would tell.",
    "flaky": "A fault of some processes needs more of the other side.",
    "build": "A module is not compiled, which takes long; `workbench prebuild` makes it ahead, for --prebuilt DIR.",
    "run": "A side has no attempt that can be used.",
}
MANY_PROCESSES = 12  # a side, where a fault comes and goes, or the card did


@dataclass(frozen=True)
class Settling:
    """What must be seen to first, a line for each thing that keeps a family open; and one command for all of it."""

    lines: tuple[str, ...]
    command: str


def settling(verdict: Verdict, family: Family) -> Settling:
    """The command is run on a GPU of the family."""
    groups: dict[str, list[Pair]] = {}
    for pair in family.having(*OPEN):
        if pair.required:
            groups.setdefault(pair.settle or "run", []).append(pair)
    if family.together and family.together.again is False:
        groups["together"] = list(family.together.pairs)
    lines = [f"{len(some)} trial{'s' * (len(some) != 1)}. {_first(key)}" for key, some in groups.items()]
    lines = lines or ["What is wanted is not there; on such a machine:"]
    return Settling((*lines, *_places(verdict)), _command(verdict, groups))


def _places(verdict: Verdict) -> list[str]:
    """What must be replaced in the command: results tell no folders of the machine they are from."""
    sides = {name: _side(verdict, name) for name in (verdict.baseline, verdict.candidate)}
    lost = [each for name, each in sides.items() if each == plain(name) or re.fullmatch(r"[^/]+\.whl", each)]
    return [f"Write the path of a wheel or interpreter in place of {' and '.join(lost)}."] if lost else []


def _command(verdict: Verdict, groups: Mapping[str, Sequence[Pair]]) -> str:
    """A `workbench check` of the kernels and modes of all these trials, on one line."""
    names = sorted({pair.trial.kernel for some in groups.values() for pair in some})
    chosen = [word for name in names for word in _kernel(verdict, name)] if len(names) <= MOST_KERNELS else []
    sides = [_side(verdict, name) for name in (verdict.baseline, verdict.candidate)]
    current = ["--current", sides[1]] if verdict.current == verdict.candidate else []
    how = [*current, *chosen, *_modes(groups), *_processes(groups), *verdict.words]
    how += ["--build"] if "build" in groups and "--build" not in how else []
    return shlex.join(["workbench", "check", *sides, *how])


def _side(verdict: Verdict, name: str) -> str:
    return verdict.specs.get(name) or spec(verdict.results, name)


def spec(results: Results, name: str) -> str:
    """What a user writes for an environment, from what its results were asked for; else its name."""
    for each in reversed(results.attempts):
        asked = each.provenance.get("environment", {}).get("requirements")
        if each.trial.environment == name and isinstance(asked, list) and asked:
            return " ".join(
                plain(word, MESSAGE).replace("flashinfer-python==", "flashinfer==") for word in asked
            )
    return plain(name)


def _kernel(verdict: Verdict, name: str) -> list[str]:
    if name in verdict.specs or name not in kernels.names():
        return ["--kernel-file", verdict.specs.get(name, f"{plain(name)}.py")]
    return ["--kernel", name]


def _first(key: str) -> str:
    if key in FIRST:
        return FIRST[key]
    meaning, advice = MEANINGS.get(key, ("", ""))
    return f"{meaning} {advice}".strip() or FIRST["run"]


def _modes(groups: Mapping[str, Sequence[Pair]]) -> list[str]:
    """Nothing where `check` takes these by itself."""
    modes = {pair.trial.mode for some in groups.values() for pair in some}
    modes |= {"graph"} if "host timer" in groups else set()
    return (
        [] if modes <= {"eager", "graph"} else [word for mode in sorted(modes) for word in ("--mode", mode)]
    )


def _processes(groups: Mapping[str, Sequence[Pair]]) -> list[str]:
    """As many as the trial that needs most of them."""
    noisy = [pair for key in ("noise", "together") for pair in groups.get(key, ()) if pair.change]
    wanted = [min(pair.change.processes) + pair.more for pair in noisy if pair.change]
    wanted += [MANY_PROCESSES] * bool({"flaky", "calm", "together"} & groups.keys())
    return ["--generations", str(max(RULES["default"].processes, *wanted))] if wanted else []
