"""Two releases side by side: functions, signatures, claims, pins and kernel sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from . import changes, pins, sources, stated
from .accepted import signatures
from .change import Change
from .definitions import Definition, Library
from .pause import no_collection
from .public import Public, methods, publics
from .values import Local, LocalClass

WRITTEN = "write it like fp4_quantize or decode.BatchDecodeWithPagedKVCacheWrapper.plan"


def drift(old: Library, new: Library, functions: Iterable[str] = ()) -> list[Change]:
    """All that differs for a caller; with `functions` (names, or their ends) only those, and no pins."""
    wanted = list(functions)
    with no_collection():
        before, after = _named(old, wanted), _named(new, wanted)
        rows = [*_functions(old, new, before, after)]
        for name in wanted:
            if not any(
                _asked(each, dotted, name) for every in (before, after) for dotted, each in every.items()
            ):
                raise ValueError(f"neither version has a function {name}; {WRITTEN}")
        return (
            rows if wanted else rows + pins.compare(old.tree, new.tree) + sources.compare(old.tree, new.tree)
        )


def matches(name: str, wanted: str) -> bool:
    """Whether a dotted name is meant by its end."""
    return name == wanted or name.endswith(f".{wanted}")


def _named(library: Library, wanted: list[str]) -> dict[str, Public]:
    every = publics(library, {part for name in wanted for part in name.split(".")})
    flat: dict[str, Public] = {}
    for dotted, each in every.items():
        flat[dotted] = each
        if isinstance(each.definition.value, LocalClass):
            for method in methods(each.definition.value, aliases=bool(wanted)):
                for found in library.ev.class_attribute(each.definition.value, method, True):
                    if isinstance(found, Local):
                        paths = tuple(f"{path}.{method}" for path in each.paths)
                        flat[f"{dotted}.{method}"] = Public(
                            f"{each.name}.{method}", Definition(f"{dotted}.{method}", found), paths
                        )
    if not wanted:
        return flat
    return {
        dotted: each for dotted, each in flat.items() if any(_asked(each, dotted, name) for name in wanted)
    }


def _asked(each: Public, dotted: str, wanted: str) -> bool:
    """A class asked for means its methods too."""
    ends = [*each.paths, dotted]
    return any(
        matches(path, wanted.removesuffix(".__init__")) or f".{wanted}." in f".{path}." for path in ends
    )


def _functions(
    old: Library, new: Library, before: dict[str, Public], after: dict[str, Public]
) -> Iterator[Change]:
    taken: set[str] = set()
    there = {path: dotted for dotted, each in after.items() for path in each.paths}
    for dotted, each in sorted(before.items(), key=lambda item: item[1].name):
        other = (
            dotted if dotted in after else next((there[path] for path in each.paths if path in there), None)
        )
        other = other or _elsewhere(each, after, before)
        if other is None:
            if not _with_its_class(each, before, after):
                yield Change(each.name, "function_removed", "", None, None, _was(old, each))
            continue
        taken.add(other)
        yield from _both(old, new, each, after[other])
    for dotted, each in sorted(after.items(), key=lambda item: item[1].name):
        if dotted not in taken and dotted not in before and not _with_its_class(each, after, before):
            yield Change(each.name, "function_added", "", None, None, _was(new, each))


def _elsewhere(each: Public, after: dict[str, Public], before: dict[str, Public]) -> str | None:
    """The one new definition of the same name."""
    same = [
        dotted
        for dotted, other in after.items()
        if other.definition.value.qualname == each.definition.value.qualname and dotted not in before
    ]
    return same[0] if len(same) == 1 else None


def _with_its_class(each: Public, here: dict[str, Public], there: dict[str, Public]) -> bool:
    """A method is not worth a row where its whole class came or went."""
    owner = each.definition.dotted.rpartition(".")[0]
    return (
        owner in here
        and isinstance(here[owner].definition.value, LocalClass)
        and not any(
            set(other.paths) & set(here[owner].paths)
            or other.definition.value.qualname == here[owner].definition.value.qualname
            for other in there.values()
        )
    )


def _was(library: Library, each: Public) -> str:
    signature = signatures(library, each.definition)
    return f"{each.name}{signature.text if signature else '(...)'}"


def _both(old: Library, new: Library, before: Public, after: Public) -> Iterator[Change]:
    yield from _moved(old, new, before, after)
    one, other = signatures(old, before.definition), signatures(new, after.definition)
    if one and other:
        yield from changes.compare(before.name, one, other)
    claimed, claims = stated.claims(old, before.definition), stated.claims(new, after.definition)
    if claimed != claims:
        detail = f"{stated.text(claimed)} became {stated.text(claims)}"
        yield Change(before.name, "claims_changed", "", None, None, detail)


def _moved(old: Library, new: Library, before: Public, after: Public) -> Iterator[Change]:
    lost = [
        path for path in before.paths if path not in after.paths and not isinstance(new.find(path), tuple)
    ]
    gained = [  # from the package itself: modules take what they need from each other, which is nobody's business
        path for path in after.paths
        if path.count(".") == 1 and path not in before.paths and not isinstance(old.find(path), tuple)
    ]  # fmt: skip
    if before.definition.dotted == after.definition.dotted and not lost + gained:
        return
    if before.definition.value.qualname.count("."):  # a method moves with its class
        return
    home, place = before.definition.value.module, after.definition.value.module
    said = f"defined in {home}, now in {place}" if home != place else f"still in {place}"
    gone = f"; no longer found as {', '.join(lost)}" if lost else f"; {before.name} still leads there"
    more = f"; now also found as {', '.join(gained)}" if gained else ""
    yield Change(before.name, "function_moved", "", None, None, said + gone + more)
