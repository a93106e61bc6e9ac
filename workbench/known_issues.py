"""What others have reported: loaded, checked, and matched by kernel, SM and version. Reported is not measured."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.results import OUTCOME_OF_REASON
from workbench.strict_json import read_json

FILE = Path(__file__).with_name("known_issues.json")
SCHEMA = 1
CONFIDENCES = ("high", "medium", "low")
STATES = (
    "open", "closed", "fixed", "partly fixed", "reverted", "workaround", "environment", "by design", "reported",
)  # fmt: skip


@dataclass(frozen=True)
class Issue:
    """`packages`: name -> range of versions that it was reported for, exact only where `precise`.

    Empty `sm` (90, 100, ...), `kernels` and `functions` mean any. `shown` is False for those to be kept in the drawer.
    """

    id: str
    component: str
    packages: Mapping[str, str]
    precise: bool
    kernels: tuple[str, ...]
    functions: tuple[str, ...]
    sm: tuple[int, ...]
    reasons: tuple[str, ...]
    what: str
    state: str
    last_good: str | None
    fixed_in: str | None
    workaround: str | None
    sources: tuple[str, ...]
    confidence: str
    shown: bool = True

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def text(self) -> str:
        """One line for a page: what, since when and where it says so."""
        where = f"; {'fixed in ' + self.fixed_in if self.fixed_in else self.state}"
        return f"reported ({self.confidence}): {self.what}{where} [{', '.join(self.sources)}]"


def load(file: Path = FILE) -> list[Issue]:
    """All of them. Raises ValueError with what is wrong with the file."""
    facts = read_json(file.read_text(encoding="utf-8"))
    if (
        not isinstance(facts, dict)
        or facts.get("schema") != SCHEMA
        or not isinstance(facts.get("issues"), list)
    ):
        raise ValueError(f"{file.name} is no list of issues of schema {SCHEMA}")
    found = [_issue(each) for each in facts["issues"]]
    if len({each.id for each in found}) < len(found):
        raise ValueError(f"{file.name} has an id twice")
    return found


def match(
    issues: list[Issue],
    *,
    kernel: str | None = None,
    function: str | None = None,
    sm: int | None = None,
    versions: Mapping[str, str] | None = None,
) -> list[Issue]:
    """Those that may apply; what is None is not asked. `sm` is a number such as 90 or 103."""
    return [
        each for each in issues
        if each.shown and _named(each, kernel, function) and (sm is None or not each.sm or sm in each.sm)
        and (versions is None or _in_range(each, versions))
    ]  # fmt: skip


def _named(issue: Issue, kernel: str | None, function: str | None) -> bool:
    bare = function.rpartition(".")[2] if function else None
    by_kernel = kernel is None or kernel in issue.kernels
    by_function = bare is None or bare in issue.functions
    return (by_kernel or by_function) if kernel and function else by_kernel and by_function


def _in_range(issue: Issue, versions: Mapping[str, str]) -> bool:
    """All packages that it names are there in their ranges; an issue that names none is not ruled out."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    for name, wanted in issue.packages.items():
        try:
            if not SpecifierSet(wanted).contains(Version(versions[name]).public, prereleases=True):
                return False
        except (KeyError, InvalidVersion):
            return False
    return True


def _issue(facts: Any) -> Issue:
    try:
        held: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
        }
        found = Issue(**held)
    except TypeError as problem:
        raise ValueError(f"no issue: {json.dumps(facts)[:80]}: {problem}") from problem
    _check(found)
    return found


def _check(issue: Issue) -> None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    lists = ("kernels", "functions", "sm", "reasons", "sources")
    if alone := [name for name in lists if not isinstance(getattr(issue, name), tuple)]:
        raise ValueError(f"{issue.id}: not a list: {', '.join(alone)}")
    problems = [f"reason {each}" for each in issue.reasons if each not in OUTCOME_OF_REASON]
    problems += [f"state {issue.state}"] if issue.state not in STATES else []
    problems += [f"confidence {issue.confidence}"] if issue.confidence not in CONFIDENCES else []
    problems += [f"sm {each!r}" for each in issue.sm if not isinstance(each, int)]
    problems += ["no sources"] if not issue.sources else []
    try:
        for wanted in issue.packages.values():
            SpecifierSet(wanted)
    except (InvalidSpecifier, AttributeError) as problem:
        problems.append(str(problem))
    if problems or not issue.what:
        raise ValueError(f"{issue.id}: {'; '.join(problems) or 'it does not say what'}")
