"""The difference of two locks: which packages another environment has in another version. Pure.

A lock is what is stored as a result's `provenance.environment`; what is read from one is never trusted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workbench.results import Results
from workbench.showing import contents
from workbench.showing.tables import text_table
from workbench.untrusted import natural, plain

Lock = Mapping[str, Any]


class Kind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    LABEL = "same-local-label-only"  # 2.11.0+cu129 and 2.11.0+cu130


@dataclass(frozen=True)
class Row:
    """One package that differs; an empty version where a lock has none.

    `where` is own, inherited or pinned (declared by the stack, and not installed), before -> after if they differ.
    """

    package: str
    before: str
    after: str
    kind: Kind
    where: str


def difference(before: Lock, after: Lock) -> list[Row]:
    """A row for each package that is not the same in both, and one for Python, by name."""
    one, other = _held(before), _held(after)
    return [
        _row(name, one.get(name, ("", "")), other.get(name, ("", "")))
        for name in sorted({*one, *other}, key=natural)
        if one.get(name, ("", ""))[0] != other.get(name, ("", ""))[0]
    ]


def difference_text(before: Lock, after: Lock) -> str:
    """The same as a table for a terminal."""
    rows = difference(before, after)
    names = plain(before.get("name", "before")), plain(after.get("name", "after"))
    if not rows:
        other = before.get("hash") != after.get("hash")
        return f"{names[0]} and {names[1]}: the same versions" + (", other contents" if other else "")
    heads = ("package", *names, "kind", "where")
    return text_table(
        heads, [(each.package, each.before or "-", each.after or "-", each.kind, each.where) for each in rows]
    )


def lock_text(lock: Lock) -> str:
    """One lock for a terminal: its pins and what became of them, or its packages where nothing is pinned."""
    pins = _mapping(lock.get("pins"))
    if not pins:
        return _packages_text(lock)
    built = any(_text(_mapping(each).get("has")) for each in pins.values())
    fields = ("pinned", "has", "from", "state") if built else ("pinned",)
    rows = [(plain(name), *(_shown(each, field) for field in fields)) for name, each in pins.items()]
    said = [f"deviates: {plain(each, 300)}" for each in _strings(lock.get("deviations"))]
    return "\n".join([text_table((plain(lock.get("name", "")), *fields), rows), *said])


def locks_of(results: Results) -> dict[str, Lock]:
    """Environment name -> a lock that says which packages it has; a name with several locks has an entry for each."""
    return results.once("locks", _locks)


def _locks(results: Results) -> dict[str, Lock]:
    found: dict[str, Lock] = {}
    for name, members in contents.named(results).items():
        for result in members:
            lock = result.provenance.get("environment")
            if isinstance(lock, dict) and isinstance(lock.get("packages"), dict):
                found[name] = {**lock, "name": name}
    return found


def newest(locks: Mapping[str, Lock], name: str) -> Lock | None:
    """The lock that a name means: its own, or the newest of several."""
    found = contents.newest(locks, name)
    return None if found is None else locks[found]


def same(before: Lock, after: Lock) -> bool:
    """Whether neither a version nor, where both are known, the contents differ."""
    hashes = before.get("hash"), after.get("hash")
    return not difference(before, after) and (not all(hashes) or hashes[0] == hashes[1])


def _packages_text(lock: Lock) -> str:
    entries = sorted(_held(lock).items(), key=lambda entry: natural(entry[0]))
    rows = [(name, version, where) for name, (version, where) in entries]
    return text_table((plain(lock.get("name", "")), "version", "where"), rows)


def _row(name: str, before: tuple[str, str], after: tuple[str, str]) -> Row:
    where = " -> ".join(dict.fromkeys(filter(None, (before[1], after[1]))))
    return Row(name, before[0], after[0], _kind(before[0], after[0]), where)


def _kind(before: str, after: str) -> Kind:
    if not before or not after:
        return Kind.REMOVED if before else Kind.ADDED
    return Kind.LABEL if before.partition("+")[0] == after.partition("+")[0] else Kind.CHANGED


def _held(lock: Lock) -> dict[str, tuple[str, str]]:
    """Package -> version and where it is from."""
    found = {"python": (_text(lock.get("python")), "inherited")} if _text(lock.get("python")) else {}
    for kind, where in (("packages", "own"), ("inherited", "inherited")):
        for name, version in _mapping(lock.get(kind)).items():
            found.setdefault(plain(name), (_text(version), where))
    for name, pin in _mapping(lock.get("pins")).items():
        found.setdefault(plain(name), (_pinned(pin), "pinned"))
    return found


def _shown(pin: Any, field: str) -> str:
    return _pinned(pin) if field == "pinned" else _text(_mapping(pin).get(field)) or "-"


def _pinned(pin: Any) -> str:
    """An exact version without its sign, so that it compares with an installed one."""
    text = _text(_mapping(pin).get("pinned"))
    return text.lstrip("=") if text.startswith("==") and "," not in text else text or "any"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _strings(value: Any) -> Iterable[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return plain(value) if isinstance(value, str) else ""
