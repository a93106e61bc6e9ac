"""What would settle an open trial: the command that measures it, and what must be seen to first. Pure."""

import shlex
from collections.abc import Sequence

from workbench import kernels
from workbench.comparison import RULES
from workbench.reasons.meanings import MEANINGS
from workbench.results import Results
from workbench.untrusted import plain
from workbench.verdict.deciding import Family, Verdict
from workbench.verdict.pairs import Pair
from workbench.verdict.word import OPEN

MOST_KERNELS = 6
FIRST = {
    "calm": "Repeating does not help as it is: let the card cool, see that nothing else runs on it, then",
    "host timer": "Their times hold the host's work; a graph shows the device's:",
    "by turns": "The two were not measured by turns in one run:",
    "noise": "More processes a side would tell:",
    "flaky": "A fault of some processes needs more of the other side:",
    "run": "A side has no attempt that can be used:",
}
FLAKY_PROCESSES = 12


def settling(verdict: Verdict, family: Family) -> list[tuple[str, str]]:
    """(what for, command), one for each thing that keeps the family open; the command is run on such a GPU."""
    groups: dict[str, list[Pair]] = {}
    for pair in family.having(*OPEN):
        if pair.required:
            groups.setdefault(pair.settle or "run", []).append(pair)
    if not groups:
        return [("What is wanted is not there; on such a machine:", command(verdict, []))]
    return [
        (
            f"{len(some)} trial{'s' * (len(some) != 1)}. {_first(key)}",
            command(verdict, some, *_options(key, some)),
        )
        for key, some in groups.items()
    ]


def command(verdict: Verdict, some: Sequence[Pair], *options: str) -> str:
    """A `workbench check` of these trials' kernels, on one line."""
    names = sorted({pair.trial.kernel for pair in some})
    chosen = (
        [word for name in names[:MOST_KERNELS] for word in _kernel(name)]
        if len(names) <= MOST_KERNELS
        else []
    )
    sides = [
        verdict.specs.get(name) or spec(verdict.results, name)
        for name in (verdict.baseline, verdict.candidate)
    ]
    current = ["--current", sides[1]] if verdict.current == verdict.candidate else []
    return shlex.join(["workbench", "check", *sides, *current, *chosen, *options])


def spec(results: Results, name: str) -> str:
    """What a user writes for an environment, from what its results were asked for; else its name."""
    for each in reversed(results.attempts):
        asked = each.provenance.get("environment", {}).get("requirements")
        if each.trial.environment == name and isinstance(asked, list) and asked:
            return " ".join(plain(word).replace("flashinfer-python==", "flashinfer==") for word in asked)
    return plain(name)


def _kernel(name: str) -> list[str]:
    return ["--kernel", name] if name in kernels.names() else ["--kernel-file", f"{plain(name)}.py"]


def _first(key: str) -> str:
    if key in FIRST:
        return FIRST[key]
    meaning, advice = MEANINGS.get(key, ("", ""))
    return f"{meaning} {advice}".strip() or FIRST["run"]


def _options(key: str, some: Sequence[Pair]) -> list[str]:
    modes = sorted({pair.trial.mode for pair in some})
    if key == "host timer":
        return ["--mode", "graph"]
    if key == "noise":
        have = max(min(pair.change.processes) for pair in some if pair.change)
        return [
            *_modes(modes),
            "--generations",
            str(max(RULES["default"].processes, have + max(pair.more for pair in some))),
        ]
    if key == "flaky":
        return [*_modes(modes), "--generations", str(FLAKY_PROCESSES)]
    return ["--effort", "thorough"] if key == "calm" else _modes(modes)


def _modes(modes: Sequence[str]) -> list[str]:
    return (
        [word for mode in modes for word in ("--mode", mode)]
        if modes not in (["eager"], ["eager", "graph"])
        else []
    )
