"""What changed in one function from one version to another, a row each."""

from __future__ import annotations

from collections.abc import Iterator

from .catching import catchers, catching
from .change import Change
from .renaming import only, renamed
from .signature import EITHER, KEYWORD, POSITIONAL, Parameter, Signature


def compare(function: str, old: Signature, new: Signature) -> list[Change]:
    """Every difference that a caller can meet, in the order of the parameters."""
    names = renamed(old, new)
    rows = [
        *_renames(function, names, old, new),
        *(_gone(function, each, old, new) for each in only(old, new) if each.name not in names),
        *(_come(function, each, old, new) for each in only(new, old) if each.name not in names.values()),
        *(
            row
            for name in old.named
            if name in new.named
            for row in _kept(function, old.named[name], new.named[name])
        ),
        *_order(function, old, new),
        *catching(function, old, new),
    ]
    return rows


def _renames(function: str, names: dict[str, str], old: Signature, new: Signature) -> Iterator[Change]:
    for before, after in names.items():
        one, other = old.named[before], new.named[after]
        yield Change(
            function, "parameter_renamed", before, one.index, other.index, f"{before} became {after}"
        )


def _gone(function: str, each: Parameter, old: Signature, new: Signature) -> Change:
    takes = new.accepts(each.name)
    legacy = new.legacy.index(each.name) + len(new.positional) if each.name in new.legacy else None
    if takes or takes is None or legacy is not None:
        how = "accepted by keyword" if takes else "perhaps accepted"
        where = "" if legacy is None else f" and still at position {legacy}"
        became = new.defaults.get(each.name)
        changed = f"; default {each.default} became {became}" if became and became != each.default else ""
        return Change(
            function, "options_hidden", each.name, each.index, legacy,
            f"no longer in the signature, {how}{where}, behind {catchers(new)}{changed}",
        )  # fmt: skip
    return Change(
        function,
        "parameter_removed",
        each.name,
        each.index,
        None,
        f"was {each.shown}{_hits(old, new, each.index)}",
    )


def _hits(old: Signature, new: Signature, index: int) -> str:
    """What a positional argument at that place now means."""
    before, after = old.meaning(index), new.meaning(index)
    if before is None or before == after:
        return ""
    return f"; positional argument {index} was {before or 'one of *args'}, now {after or 'is not accepted'}"


def _come(function: str, each: Parameter, old: Signature, new: Signature) -> Change:
    if each.kind == KEYWORD:
        place = "keyword only"
    elif after := _after(each, old, new):
        place = f"before {', '.join(after[:3])}"
    else:
        place = "at the end, no positional argument moves"
    required = "" if each.default is not None else ", required"
    known = old.accepts(each.name)
    if known:
        return Change(
            function,
            "options_shown",
            each.name,
            None,
            each.index,
            f"now in the signature: {each.shown}; was accepted behind {catchers(old) or 'a decorator'}",
        )
    return Change(
        function,
        "parameter_inserted",
        each.name,
        None,
        each.index,
        f"{each.shown}, {place}{required}{_hits(old, new, each.index)}",
    )


def _after(each: Parameter, old: Signature, new: Signature) -> list[str]:
    """Parameters behind it that were there before; where all have new names, those that stood in its place."""
    names = {other.name for other in old.positional}
    kept = [other.name for other in new.positional[each.index + 1 :] if other.name in names]
    return kept or [other.name for other in old.positional[each.index :]]


def _kept(function: str, old: Parameter, new: Parameter) -> Iterator[Change]:
    for change, detail in (*_kind(old, new), *_default(old, new)):
        yield Change(function, change, new.name, old.index, new.index, detail)


def _kind(old: Parameter, new: Parameter) -> Iterator[tuple[str, str]]:
    if new.kind == KEYWORD and old.kind != KEYWORD:
        yield "parameter_made_keyword_only", f"positional argument {old.index} is no longer accepted"
    elif new.kind == POSITIONAL and old.kind != POSITIONAL:
        yield "parameter_made_positional_only", "no longer accepted by keyword"
    elif old.kind != new.kind:
        became = "positional or keyword" if new.kind == EITHER else new.kind
        yield "accepts_more", f"{old.kind} became {became}"


def _default(old: Parameter, new: Parameter) -> Iterator[tuple[str, str]]:
    if old.default == new.default:
        return
    if new.default is None:
        yield "parameter_made_required", f"default {old.default} is gone"
    elif old.default is None:
        yield "accepts_more", f"may be left out, default {new.default}"
    else:
        yield "default_changed", f"default {old.default} became {new.default}"


def _order(function: str, old: Signature, new: Signature) -> Iterator[Change]:
    """Parameters that both have, in another order."""
    kept = [
        each.name
        for each in old.positional
        if each.name in new.named and new.named[each.name].kind != KEYWORD
    ]
    after = [each.name for each in new.positional if each.name in kept]
    for one, other in zip([name for name in kept if name in after], after, strict=True):
        if one != other:
            yield Change(
                function,
                "parameter_moved",
                other,
                old.named[other].index,
                new.named[other].index,
                "order changed",
            )
