"""Two signatures, as texts, compared in words: what was inserted, removed, moved, or has another default."""

from workbench.untrusted import plain

LONGEST = 4000
_OPEN, _CLOSE = "([{<", ")]}>"


def parameters(signature: str) -> dict[str, str]:
    """Name -> the rest (annotation, default), in order; `*` and `/` are kept as names of their own.

    Defaults may be reprs that no parser reads (`<Layout.linear: 0>`), so this splits and does not parse.
    """
    text = plain(signature, LONGEST).split(" -> ")[0].strip()
    text = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found = {}
    for part in _split(text):
        ends = [place for place in (part.find(":"), part.find("=")) if place >= 0]
        cut = min(ends, default=len(part))
        found[part[:cut].strip()] = part[cut:].strip()
    return found


def _split(text: str) -> list[str]:
    parts, depth, part = [], 0, ""
    for place, letter in enumerate(text):
        arrow = letter == ">" and text[place - 1 : place] == "-"
        depth += (letter in _OPEN) - (letter in _CLOSE and not arrow)
        if letter == "," and depth <= 0:
            parts.append(part)
            part = ""
        else:
            part += letter
    return [each.strip() for each in [*parts, part] if each.strip()]


def differences(before: str, after: str) -> list[str]:
    """In words, in the order of the parameters, counted from 1; empty if a caller cannot tell them apart."""
    old, new = parameters(before), parameters(after)
    words = [
        f"parameter {name} removed (was {place})" for place, name in enumerate(old, 1) if name not in new
    ]
    words += [_inserted(name, place, len(old)) for place, name in enumerate(new, 1) if name not in old]
    kept_old, kept_new = [name for name in old if name in new], [name for name in new if name in old]
    if kept_old != kept_new:
        moved = [name for one, name in zip(kept_old, kept_new, strict=True) if one != name]
        words.append(f"order changed: {', '.join(moved)}")
    return words + [
        f"parameter {name}: {_said(old[name])} became {_said(new[name])}"
        for name in kept_new
        if old[name] != new[name]
    ]


def _inserted(name: str, place: int, before: int) -> str:
    verb = "added at the end" if place > before else f"inserted as number {place}"
    return f"parameter {name} {verb}"


def _said(text: str) -> str:
    return text.lstrip(":= ").strip() or "nothing"
