"""What each environment has: package versions, and the function of each kernel as it is found there.

An environment is a name and a lock: what two locks of one name have is never shown as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from workbench.results import Result, Results
from workbench.showing import contents
from workbench.showing.signatures import differences
from workbench.showing.tables import block, prose, table, text_table
from workbench.untrusted import escaped, natural, part, plain

SIGNATURE = 1500
SAME = "no difference"
EMPTY = "No environment is known yet: `workbench run` builds them and keeps what it finds, without a GPU too."


@dataclass(frozen=True)
class Versions:
    """Shows itself: packages by environment, then signatures with their differences in words."""

    results: Results

    @cached_property
    def named(self) -> dict[str, list[Result]]:
        return contents.named(self.results)

    @property
    def environments(self) -> list[str]:
        return list(self.named)

    @cached_property
    def packages(self) -> dict[str, dict[str, str]]:
        """Package -> environment -> version, inherited ones marked as such; those that differ come first."""
        found: dict[str, dict[str, str]] = {}
        locks = {(name, id(result.provenance.get("environment"))): result for name, result in self._each()}
        for (environment, _), result in locks.items():
            for kind, mark in (("packages", ""), ("inherited", " (inherited)")):
                held = part(result.provenance, "environment", kind)
                for name, version in held.items() if isinstance(held, dict) else ():
                    found.setdefault(plain(name, 80), {})[environment] = plain(version, 60) + mark
        return dict(sorted(found.items(), key=lambda item: (self._agree(item[1]), item[0])))

    @cached_property
    def found(self) -> dict[str, dict[str, Result]]:
        """Kernel -> environment -> a result that knows the function."""
        known: dict[str, dict[str, Result]] = {}
        for environment, result in self._each():
            if result.found.get("signature"):
                known.setdefault(result.trial.kernel, {})[environment] = result
        return dict(sorted(known.items()))

    def _each(self) -> Iterator[tuple[str, Result]]:
        return ((name, result) for name, members in self.named.items() for result in members)

    @property
    def changes(self) -> list[tuple[str, str, str, str]]:
        """Kernel, from, to, difference in words: each environment that has it beside the next."""
        rows = []
        for kernel, by_environment in self.found.items():
            order = [each for each in self.environments if each in by_environment]
            for before, after in pairwise(order):
                signatures = (str(by_environment[each].found["signature"]) for each in (before, after))
                rows += [(kernel, before, after, words) for words in differences(*signatures) or [SAME]]
        return [(plain(one), plain(two), plain(three), plain(four, 300)) for one, two, three, four in rows]

    def __repr__(self) -> str:
        if not (self.packages or self.found):
            return EMPTY
        heads = ["package", *map(plain, self.environments)]
        changes = text_table(("kernel", "from", "to", "difference"), self.changes)
        return f"{text_table(heads, self._rows())}\n\n{changes}"

    def _repr_html_(self) -> str:
        if not (self.packages or self.found):
            return block(f"<p><strong>{prose(EMPTY)}</strong></p>")
        return block(self._packages_page(), self._changes_page(), *self._signature_pages())

    def _agree(self, versions: dict[str, str]) -> bool:
        return len({versions.get(environment) for environment in self.environments}) == 1

    def _rows(self) -> list[list[str]]:
        return [
            [name, *(held.get(each, "-") for each in self.environments)]
            for name, held in self.packages.items()
        ]

    def _packages_page(self) -> str:
        rows = [[escaped(name), *_marked(versions)] for name, *versions in self._rows()]
        differ = sum(len(set(versions)) > 1 for _, *versions in self._rows())
        caption = f"Packages by environment: {differ} of {len(rows)} differ, and are marked"
        return table(caption, ["package", *map(escaped, self.environments)], rows)

    def _changes_page(self) -> str:
        rows = []
        for steps, changes in groupby(self.changes, lambda row: row[:3]):
            words = [_mark(escaped(row[3], 300), row[3] != SAME) for row in changes]
            rows.append([*map(escaped, steps), "<br>".join(words)])
        if not rows:
            return "<p>No function is known in two environments, so there is nothing to compare.</p>"
        caption = "Functions: what changed from one environment to the next"
        return table(caption, ["kernel", "from", "to", "difference"], rows)

    def _signature_pages(self) -> list[str]:
        pages = []
        for kernel, by_environment in self.found.items():
            rows = [
                [
                    escaped(each),
                    escaped(result.found.get("module", "-")),
                    f"<code>{_signature(result)}</code>",
                ]
                for each, result in sorted(by_environment.items(), key=lambda item: natural(item[0]))
            ]
            api = next(iter(by_environment.values())).found.get("api", kernel)
            shown = table(f"{plain(api)} as found", ["environment", "module", "signature"], rows)
            pages.append(
                f"<details><summary>{escaped(kernel)}: {escaped(api)} as found</summary>{shown}</details>"
            )
        return pages


def _signature(result: Result) -> str:
    return escaped(result.found["signature"], SIGNATURE)


def _marked(versions: list[str]) -> list[str]:
    differ = len(set(versions)) > 1
    return [_mark(escaped(version), differ) for version in versions]


def _mark(text: str, differs: bool) -> str:
    return f"<mark>{text}</mark>" if differs else text
