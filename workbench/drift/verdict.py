"""One call against two versions: ok, breaks, shifts, missing or unknown, and why."""

from __future__ import annotations

from .accepted import signatures
from .definitions import Absent, Found, Library, Opaque
from .fits import Fit, fit
from .renaming import renamed
from .signature import Signature
from .values import Arguments

OK, BREAKS, SHIFTS, MISSING, UNKNOWN = "ok", "breaks", "shifts", "missing", "unknown"
ALREADY = "already so in"
NEITHER = "fits nothing at its own pin either"
Verdict = tuple[str, str]


def judge(call: Arguments, dotted: str, old: Library, new: Library) -> Verdict:
    """`old` is what the call was written for, `new` what it would meet."""
    before, after = old.find(dotted), new.find(dotted)
    if isinstance(after, Absent):
        already = f"; {ALREADY} {old.tree.version}" if isinstance(before, Absent) else ""
        return MISSING, after.why + already
    if isinstance(after, Opaque) or isinstance(before, Opaque):
        return _unread(dotted, before, after, old, new)
    news = [signatures(new, each) for each in after]
    if isinstance(before, Absent):
        return _agreed([_new_only(call, each, old) for each in news])
    olds = [signatures(old, each) for each in before]
    if len(olds) == len(news):
        return _agreed([_pair(call, one, other) for one, other in zip(olds, news, strict=True)])
    return _agreed([_pair(call, one, other) for one in olds for other in news])


def _agreed(verdicts: list[Verdict]) -> Verdict:
    if len({verdict for verdict, _ in verdicts}) == 1:
        return next((each for each in verdicts if each[1]), verdicts[0])
    worst = next(each for each in verdicts if each[0] != OK)
    return UNKNOWN, f"defined more than once, and one of them: {worst[0]}, {worst[1]}"


def _unread(dotted: str, before: Found, after: Found, old: Library, new: Library) -> Verdict:
    why = after.why if isinstance(after, Opaque) else ""
    if isinstance(before, Absent):
        return OK, f"{dotted} is new in {new.tree.version}; {why}"
    if isinstance(before, Opaque) and isinstance(after, Opaque):
        files = [library.world.files.get(library.world.split(dotted)[0], "") for library in (old, new)]
        if files[0] and files[0] in new.tree.files and old.tree.read(files[0]) == new.tree.read(files[1]):
            return OK, "its file is the same in both"
    return UNKNOWN, why or (before.why if isinstance(before, Opaque) else "")


def _new_only(call: Arguments, new: Signature | None, old: Library) -> Verdict:
    if new is None:
        return UNKNOWN, "its constructor is not of this package"
    found = fit(call, new)
    if found.errors:
        return BREAKS, f"{found.errors[0]} (there is no such function in {old.tree.version})"
    return OK, f"new: there is no such function in {old.tree.version}"


def _pair(call: Arguments, old: Signature | None, new: Signature | None) -> Verdict:
    if old is None or new is None:
        return (OK, "") if old is new else (UNKNOWN, "its constructor is not of this package")
    before, after = fit(call, old), fit(call, new)
    if after.errors:
        return BREAKS, _why(after.errors[0], before, old, new)
    if before.errors:
        return OK, f"fits, though not at its own pin: {before.errors[0]}"
    moved = _shifted(call, before, after, old, new)
    if moved:
        return SHIFTS, moved
    if doubt := _doubt(call, before, after, old, new):
        return UNKNOWN, doubt
    return OK, "; ".join(_notes(call, before, after, old, new))


def _why(error: str, before: Fit, old: Signature, new: Signature) -> str:
    names = renamed(old, new)
    hint = next((f"; it was renamed to {names[name]}" for name in names if error.endswith(f" {name}")), "")
    own = f"; {NEITHER}: {before.errors[0]}" if before.errors else ""
    return f"TypeError: {error}{hint}{own}"


def _shifted(call: Arguments, before: Fit, after: Fit, old: Signature, new: Signature) -> str:
    """Positional arguments that are accepted and now mean another parameter."""
    names = renamed(old, new)
    rows = [
        f"positional argument {index + 1}, {call.positional[index][:40]}: {was} became {now or 'one of *args'}"
        for index, was in before.meanings.items()
        if (now := after.meanings.get(index)) != was and was and names.get(was) != now and now is not None
    ]
    more = f" and {len(rows) - 2} more" if len(rows) > 2 else ""
    return "; ".join(rows[:2]) + more


def _doubt(call: Arguments, before: Fit, after: Fit, old: Signature, new: Signature) -> str:
    if old.text == new.text and set(old.extra) <= set(new.extra) and set(old.hidden) <= set(new.hidden):
        return ""
    fresh = [each for each in after.doubts if each not in before.doubts]
    changed = new.doubt if new.doubt != old.doubt else ""
    spread = _spread(call, after, old, new) if call.star is not None else ""
    opened = _opened(call, before, after, old, new) if call.open else ""
    return spread or opened or next(iter(fresh), changed)


def _spread(call: Arguments, after: Fit, old: Signature, new: Signature) -> str:
    """`*sequence`: what may lie at a position that means something else now."""
    start = call.star or 0
    for index in range(start, max(len(old.positional), len(new.positional))):
        was, now = old.meaning(index), new.meaning(index)
        if was and was not in call.keywords and was != now and renamed(old, new).get(was) != now:
            where = f"position {index + 1} was {was}, now {now or 'is not accepted'}"
            return f"a sequence of unknown length is spread from position {start + 1} on; {where}"
    lost = [each for each in new.positional if each.default is None and each.name not in after.given]
    lost = [each for each in lost if each.name not in old.named]
    return f"a sequence of unknown length is spread, and {lost[0].name} is required now" if lost else ""


def _opened(call: Arguments, before: Fit, after: Fit, old: Signature, new: Signature) -> str:
    """`**mapping`: which of its keys may no longer be accepted, or may be lacking."""
    for name in (*old.named, *old.hidden, *old.extra):
        if name not in before.given and old.accepts(name) and new.accepts(name) is False:
            return f"a mapping of unknown keys is spread, and {name} is no longer accepted"
    for name, each in new.named.items():
        if each.default is None and name not in after.given and name not in old.named:
            return f"a mapping of unknown keys is spread, and {name} is required now"
    return ""


def _notes(call: Arguments, before: Fit, after: Fit, old: Signature, new: Signature) -> list[str]:
    """Defaults that changed under a call that leaves them out, names that changed under positional ones."""
    rows = []
    for name, each in old.named.items():
        other = new.named.get(name)
        default = other.default if other else new.defaults.get(name)
        if (
            each.default is not None
            and default
            and default != each.default
            and name not in before.given | after.given
        ):
            rows.append(f"the default of {name} was {each.default}, now {default}")
    names = renamed(old, new)
    rows += [f"{was} is called {names[was]} now" for was in before.meanings.values() if was in names]
    if any(index >= len(new.positional) for index in after.meanings) and len(old.positional) > len(
        new.positional
    ):
        rows.append("arguments that are deprecated in this place")
    return rows
