"""Import statements in the order of isort: the standard library, then others; `import x` before `from x import y`."""

import sys
from collections.abc import Iterable

from workbench.repro.source import Import


def statements(imports: Iterable[Import]) -> list[str]:
    """One a line, with an empty line between the two sections."""
    found = set(imports)
    standard = {each for each in found if each.module.partition(".")[0] in sys.stdlib_module_names}
    sections = [_section(standard), _section(found - standard)]
    return sections[0] + [""] * all(map(bool, sections)) + sections[1]


def _section(imports: set[Import]) -> list[str]:
    plain = {each for each in imports if not each.member}
    members: dict[str, list[Import]] = {}
    for each in sorted(imports - plain, key=_order):
        members.setdefault(each.module, []).append(each)
    named = [f"import {_as(each.module, each.name)}" for each in sorted(plain, key=lambda one: one.module)]
    return named + [
        f"from {module} import {', '.join(_as(each.member, each.name) for each in found)}"
        for module, found in members.items()
    ]


def _order(each: Import) -> tuple[str, int, str]:
    """Members of one module: constants, then classes, then the rest."""
    kind = 0 if each.member.isupper() else (1 if each.member[:1].isupper() else 2)
    return each.module, kind, each.member


def _as(what: str, name: str) -> str:
    return f"{what} as {name}" if name else what
