"""All rules over one fingerprint."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench import known_issues

from . import machine, versions
from .expected import expected
from .fingerprint import Fingerprint
from .skew import NOTE, SKEW, Skew

if TYPE_CHECKING:
    from packaging.requirements import Requirement

RULES = (
    versions.parts_of_one_release, versions.requirements, versions.installed_twice, versions.cutlass_dsl,
    machine.triton_kernels, machine.compiler, machine.driver, machine.python, machine.caches, machine.artifacts,
    machine.shadows,
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """What was found in an environment, and what is wrong with it."""

    name: str
    fingerprint: Fingerprint
    skews: tuple[Skew, ...]

    @property
    def against(self) -> list[Skew]:
        return [each for each in self.skews if each.level == SKEW]

    def facts(self) -> dict[str, Any]:
        return {
            "environment": self.name,
            "fingerprint": {**self.fingerprint.summary(), "packages": self.fingerprint.packages},
            "skews": [each.facts() for each in self.skews],
        }

    def __repr__(self) -> str:
        rows = [f"{name:24} {value}" for name, value in self.fingerprint.summary().items()]
        said = [f"{each.level}: {each.what}\n  why: {each.why}\n  fix: {each.fix}" for each in self.skews]
        return "\n".join([self.name, *rows, "", *(said or ["nothing out of step"])])


def examine(name: str, found: Fingerprint, wanted: "list[Requirement] | None" = None) -> Report:
    """Applies every rule; `wanted` are the pins that are expected on top."""
    skews = [each for rule in RULES for each in rule(found)]
    skews += expected(found, wanted or [])
    skews += _reported(found)
    return Report(name, found, tuple(dict.fromkeys(skews)))


def _reported(found: Fingerprint) -> list[Skew]:
    """Reports on packages as such, of no kernel in particular, where the range of versions is exact."""
    every = [
        each
        for each in known_issues.load()
        if each.precise and each.packages and not each.kernels and not each.functions
    ]
    hits = [each for each in known_issues.match(every, versions=found.packages) if each.state != "closed"]
    return [
        Skew(
            each.id,
            f"reported of {', '.join(each.packages)}: {each.what}",
            f"sources: {', '.join(each.sources)}",
            each.workaround or "none known",
            NOTE,
        )
        for each in hits
    ]
