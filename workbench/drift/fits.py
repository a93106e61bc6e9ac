"""Whether a call fits a signature, and what each of its arguments becomes there."""

from __future__ import annotations

from dataclasses import dataclass, field

from .signature import KEYWORD, OPTIONS, POSITIONAL, REST, Signature
from .values import Arguments


@dataclass
class Fit:
    """`errors` are certain, `doubts` depend on what cannot be read; `meanings`: position -> parameter."""

    errors: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    meanings: dict[int, str] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)


def fit(call: Arguments, signature: Signature) -> Fit:
    """As Python would bind it, without evaluating anything."""
    found = Fit()
    _positional(call, signature, found)
    for name in call.keywords:
        _keyword(name, signature, found, found.errors)
    for name in call.perhaps:
        if name not in found.given:
            _keyword(name, signature, found, found.doubts, "on some paths it hands over ")
    _required(call, signature, found)
    return found


def _positional(call: Arguments, signature: Signature, found: Fit) -> None:
    for index in range(len(call.positional)):
        name = signature.meaning(index)
        if name is None:
            most = len(signature.positional) + (len(signature.legacy) if signature.has(REST) else 0)
            found.errors.append(f"takes {most} positional arguments, {len(call.positional)} given")
            return
        found.meanings[index] = name
        if name:
            found.given.add(name)


def _keyword(name: str, signature: Signature, found: Fit, problems: list[str], start: str = "") -> None:
    takes = signature.accepts(name)
    if name in found.given:
        problems.append(f"{start}two values for {name}")
    elif takes is False:
        what = (
            "a positional-only parameter by keyword:" if name in signature.named else "an unexpected keyword"
        )
        problems.append(f"{start}{what} {name}")
    elif takes is None:
        found.doubts.append(f"{name} goes into **kwargs, whose use is not known")
    found.given.add(name)


def _required(call: Arguments, signature: Signature, found: Fit) -> None:
    lacking = [
        each for each in signature.parameters
        if each.default is None and each.kind not in (REST, OPTIONS) and each.name not in found.given
    ]  # fmt: skip
    sure = [
        each.name for each in lacking
        if not (call.open and each.kind != POSITIONAL) and not (call.star is not None and each.kind != KEYWORD)
    ]  # fmt: skip
    if sure:
        found.errors.append(f"nothing for {', '.join(sure)}")
