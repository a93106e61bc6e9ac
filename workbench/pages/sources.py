"""Where a page's figures come from: environment, GPU, driver, how many attempts, from when to when."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.results import Result, Results
from workbench.showing.legend import gpu
from workbench.showing.tables import block, table, text_table
from workbench.showing.told import telling
from workbench.untrusted import escaped, natural, part, plain

HEADS = ("environment", "gpu", "driver", "locked as", "attempts", "first day", "last day", "workbench")
MOST_PROBLEMS = 10


@dataclass(frozen=True)
class Sources:
    """Shows itself. Lines that could not be read are named, for what they said is missing from the page."""

    results: Results

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        groups: dict[tuple[str, ...], list[Result]] = {}
        for result in self.results:
            if result.attempt > 0:  # not the lines that only say what was planned
                groups.setdefault(_key(result), []).append(result)
        ordered = sorted(groups.items(), key=lambda item: [natural(part) for part in item[0]])
        return [_row(key, attempts) for key, attempts in ordered]

    def __repr__(self) -> str:
        rows = self.rows
        shown = [text_table(HEADS, rows) if rows else "No results."]
        return "\n".join([*shown, *(f"not read: {problem}" for problem in self._problems())])

    def _repr_html_(self) -> str:
        rows = [[escaped(entry) for entry in row] for row in self.rows]
        shown = (
            table("What the figures on this page come from", HEADS, rows) if rows else "<p>No results.</p>"
        )
        problems = "".join(f"<li>{escaped(problem, 300)}</li>" for problem in self._problems())
        return block(shown, f"<p>Lines that could not be read:</p><ul>{problems}</ul>" if problems else "")

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        return telling(self._repr_html_(), repr(self), source=self.summary, days=days(self.results))

    @property
    def summary(self) -> str:
        """`2 environments on NVIDIA H200, 768 attempts`."""
        rows = self.rows
        if not rows:
            return ""
        names, gpus = ({row[place]: None for row in rows} for place in (0, 1))
        attempts = sum(int(row[HEADS.index("attempts")]) for row in rows)
        counts = (_count(len(names), "environment"), _count(attempts, "attempt"))
        return f"{counts[0]} on {', '.join(gpus)}, {counts[1]}"

    def _problems(self) -> list[str]:
        found = self.results.problems
        shown = [plain(problem, 300) for problem in found[:MOST_PROBLEMS]]
        return [*shown, f"and {len(found) - len(shown)} more"] if len(found) > len(shown) else shown


def days(results: Results) -> tuple[str, str] | None:
    """The first and the last day something in these results was measured, as 2026-11-30."""
    started = sorted(day for day in map(_day, results) if day)
    return (started[0], started[-1]) if started else None


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"


def _key(result: Result) -> tuple[str, ...]:
    known = result.provenance
    driver, locked = part(known, "gpu", "driver"), part(known, "environment", "hash")
    names = (result.trial.environment, gpu(result.trial.gpu), driver or "-", str(locked or "-")[:12])
    return tuple(plain(name) for name in names)


def _row(key: tuple[str, ...], attempts: list[Result]) -> tuple[str, ...]:
    started = sorted(day for day in map(_day, attempts) if day) or ["-"]
    versions = sorted(
        {plain(part(each.provenance, "workbench") or "-", 20) for each in attempts}, key=natural
    )
    return (*key, str(len(attempts)), started[0], started[-1], ", ".join(versions))


def _day(result: Result) -> str:
    return plain(part(result.provenance, "started") or "")[:10]
