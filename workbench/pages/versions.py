"""What each environment has: package versions, and the function of each kernel as it is found there.

An environment is a name and a lock: what two locks of one name have is never shown as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

from workbench.results import Result, Results
from workbench.showing import contents, legend
from workbench.showing.signatures import differences
from workbench.showing.tables import block, prose, table, text_table, upright
from workbench.untrusted import escaped, natural, part, plain

SIGNATURE = 1500
SAME = "no difference"
EMPTY = "No environment is known yet: `workbench run` builds them and keeps what it finds, without a GPU too."


def by_gpu(results: Results) -> list["Versions"]:
    """One `Versions` for each GPU, so that no table mixes what two machines have; those without a GPU are last."""
    gpus = sorted({each.trial.gpu for each in results}, key=lambda gpu: (gpu == "none", natural(gpu)))
    return [Versions(results.only(gpu=[gpu]), plain(legend.gpu(gpu))) for gpu in gpus] or [Versions(results)]


@dataclass(frozen=True)
class Versions:
    """Shows itself: packages by environment, then signatures with their differences in words.

    `where` is the GPU, if they are of one.
    """

    results: Results
    where: str = ""

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
        shown = self._title("Packages"), text_table(heads, self._rows())
        changes = text_table(("kernel", "from", "to", "difference"), self.changes)
        return "\n".join([*shown, "", self._title("Functions"), changes])

    def _title(self, what: str) -> str:
        return f"{what}, {self.where}" if self.where else what

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
        """Those that differ as a table; those that are the same everywhere on request."""
        rows = [[escaped(each) for each in row] for row in self._rows()]
        differ, same = (
            [row for row in rows if (len(set(row[1:])) > 1) == wanted] for wanted in (True, False)
        )
        shown = ""
        if differ:
            caption = f"{self._title('Packages that differ')}: {len(differ)} of {len(rows)}"
            names = [*map(escaped, self.environments)]
            shown = table(caption, *upright(("package", "environment"), names, differ))
        if same:
            held = ", ".join(f"{name} {versions[0]}" for name, *versions in same)
            title = escaped(f"{self._title('Packages that are the same in all')}: {len(same)}", 300)
            shown += f"<details><summary>{title}</summary><p>{held}</p></details>"
        return shown

    def _changes_page(self) -> str:
        steps = {
            step: [row[3] for row in changes] for step, changes in groupby(self.changes, lambda row: row[:3])
        }
        if not steps:
            return "<p>No function is known in two environments, so there is nothing to compare.</p>"
        changed = {step: words for step, words in steps.items() if words != [SAME]}
        rows = [
            [*map(escaped, step), "<br>".join(f"<mark>{escaped(each, 300)}</mark>" for each in words)]
            for step, words in changed.items()
        ]
        calm = len(steps) - len(changed)
        said = (
            f"<p>In {calm} of {len(steps)} steps the function that is called is the same.</p>" if calm else ""
        )
        caption = self._title("Functions: what changed from one environment to the next")
        return (table(caption, ["kernel", "from", "to", "difference"], rows) if rows else "") + said

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
            shown = table(self._title(f"{plain(api)} as found"), ["environment", "module", "signature"], rows)
            pages.append(
                f"<details><summary>{escaped(kernel)}: {escaped(api)} as found</summary>{shown}</details>"
            )
        return pages


def _signature(result: Result) -> str:
    return escaped(result.found["signature"], SIGNATURE)
