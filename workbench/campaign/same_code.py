"""Which environments run the same code for a trial, by the digests that `benchmarks/same_code.py` made of it.

A comparison of two of them is a null control: whatever it finds is a false alarm.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from workbench.comparison.sides import Question, question
from workbench.reported import versions_in
from workbench.results import Result, Results
from workbench.strict_json import json_in
from workbench.untrusted import natural, part

Code = tuple[str, ...]
"""Package, digest, and all that lies beneath by its version: equal where the same code runs on the same libraries."""


@dataclass(frozen=True)
class Group:
    """A package whose `versions` have these digests for `kernels`, in cases that have what `where` says."""

    package: str
    kernels: tuple[str, ...]
    where: dict[str, Any]
    versions: dict[str, str]

    def of(self, result: Result) -> str:
        """The digest; empty where it is not known. A key that a case lacks has its usual value, as `where` has."""
        trial, packages = result.trial, versions_in(part(result.provenance, "environment"))
        fits = all(trial.case.get(name, value) == value for name, value in self.where.items())
        return (
            self.versions.get(packages.get(self.package, ""), "")
            if trial.kernel in self.kernels and fits
            else ""
        )


@dataclass
class Ran:
    """The attempts of one environment at one trial, and the codes that they ran."""

    attempts: list[Result] = field(default_factory=list)
    codes: set[Code] = field(default_factory=set)


def load(file: Path | str) -> list[Group]:
    """Nothing where there is no such file. Raises ValueError for one of another kind."""
    if not Path(file).is_file():
        return []
    try:
        return list(map(_group, json_in(Path(file))))
    except (TypeError, KeyError) as problem:
        raise ValueError(f"{file} is no list of groups of releases: {problem}") from problem


def _group(each: Any) -> Group:
    code = dict(each["code"])
    if not all(isinstance(digest, str) for digest in code.values()):
        raise TypeError("a digest is no text")
    return Group(str(each["package"]), tuple(each["kernels"]), dict(each["where"]), code)


def controls(results: Results, groups: list[Group]) -> Iterator[tuple[str, tuple[str, str], Results]]:
    """Kernel, two environments, and the attempts of both at trials for which both run the same code."""
    asked: dict[str, dict[Question, dict[str, Ran]]] = {}
    for result in results:
        if code := _code(result, groups):
            sides = asked.setdefault(result.trial.kernel, {}).setdefault(question(result.trial), {})
            ran = sides.setdefault(result.trial.environment, Ran())
            ran.attempts.append(result)
            ran.codes.add(code)
    for kernel, questions in sorted(asked.items(), key=lambda item: natural(item[0])):
        names = sorted({name for each in questions.values() for name in each}, key=natural)
        for pair in combinations(names, 2):
            if shared := [each for sides in questions.values() for each in _shared(sides, pair)]:
                yield kernel, pair, Results(tuple(shared))


def _shared(sides: dict[str, Ran], pair: tuple[str, str]) -> list[Result]:
    before, after = (sides.get(name, Ran()) for name in pair)
    same = before.codes == after.codes and len(before.codes) == 1
    return [*before.attempts, *after.attempts] if same else []


def _code(result: Result, groups: list[Group]) -> Code | None:
    inherited = part(result.provenance, "environment", "inherited")
    beneath = sorted(inherited.items()) if isinstance(inherited, dict) else []
    for group in groups:
        if digest := group.of(result):
            return (group.package, digest, *(f"{name} {version}" for name, version in beneath))
    return None
