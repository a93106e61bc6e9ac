"""What bisections found, from files in which `workbench bisect --json` was kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.showing.shown import Shown
from workbench.strict_json import object_in
from workbench.untrusted import items, plain

EMPTY = "No bisection is stored: `workbench bisect --json` prints what is kept here."
HEADS = ("kernel", "case", "mode", "bad is", "last good", "first bad", "asked")


def bisections(folder: str | Path) -> Shown:
    """A row for each file; `cannot tell` names releases between the two ends that gave no answer."""
    rows = tuple(row for file in sorted(Path(folder).glob("*.json")) if (row := _row(object_in(file))))
    return Shown("Where an outcome or a time changed, found by bisection", HEADS, rows, EMPTY)


def _row(found: Mapping[str, Any]) -> tuple[str, ...]:
    if "probes" not in found or "kernel" not in found:
        return ()
    good, bad = (_end(found, *names) for names in (("last_good", "good"), ("first_bad", "bad")))
    case = found.get("case")
    label = ", ".join(f"{name}={value}" for name, value in case.items()) if isinstance(case, dict) else ""
    left = found.get("problem") or ", ".join(map(str, items(found.get("unsure"))))
    return (
        *(
            plain(each, 200)
            for each in (found["kernel"], label, found.get("mode", ""), found.get("until", ""))
        ),
        good,
        bad + (plain(f"; cannot tell: {left}", 300) if left else ""),
        "; ".join(_asked(each) for each in items(found["probes"])),
    )


def _end(found: Mapping[str, Any], *names: str) -> str:
    """The environment and what it answered."""
    ends = (found[name] for name in names if isinstance(found.get(name), dict))
    told: Mapping[str, Any] = next(ends, {})
    return plain(f"{told.get('environment', '-')}: {told.get('why', '')}", 260)


def _asked(probe: Any) -> str:
    each = probe if isinstance(probe, dict) else {}
    return plain(f"{each.get('environment', '-')} {each.get('answer', '')}", 120)
