"""What a function accepts: its parameters, and what its decorators and its body add to them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

POSITIONAL, EITHER, KEYWORD, REST, OPTIONS = (
    "positional only",
    "positional",
    "keyword only",
    "*args",
    "**kwargs",
)


@dataclass(frozen=True)
class Parameter:
    """`index` counts from 0, without self and without a bare `*`."""

    name: str
    kind: str
    index: int
    default: str | None = None
    annotation: str = ""

    @property
    def shown(self) -> str:
        sign = {REST: "*", OPTIONS: "**"}.get(self.kind, "")
        return sign + self.name + (f"={self.default}" if self.default is not None else "")


@dataclass(frozen=True)
class Signature:
    """`extra`: keywords that a decorator takes; `hidden`: those behind **kwargs, all of them if `closed`.

    `legacy`: names that the body gives to what *args collects; `doubt`: why it may not be as it reads.
    """

    parameters: tuple[Parameter, ...]
    extra: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    closed: bool = False
    legacy: tuple[str, ...] = ()
    doubt: str = ""
    defaults: dict[str, str] = field(
        default_factory=dict, compare=False
    )  # of hidden ones, where they are read

    @property
    def positional(self) -> list[Parameter]:
        return [each for each in self.parameters if each.kind in (POSITIONAL, EITHER)]

    @property
    def named(self) -> dict[str, Parameter]:
        return {each.name: each for each in self.parameters if each.kind not in (REST, OPTIONS)}

    def has(self, kind: str) -> bool:
        return any(each.kind == kind for each in self.parameters)

    def accepts(self, keyword: str) -> bool | None:
        """None: it depends on what is behind **kwargs."""
        found = self.named.get(keyword)
        if (found and found.kind != POSITIONAL) or keyword in self.extra or keyword in self.hidden:
            return True
        if self.has(OPTIONS):
            return False if self.closed else None
        return False

    def meaning(self, index: int) -> str | None:
        """The parameter that a positional argument becomes; "" if *args takes it, None if nothing does."""
        places = self.positional
        if index < len(places):
            return places[index].name
        if not self.has(REST):
            return None
        beyond = index - len(places)
        return self.legacy[beyond] if beyond < len(self.legacy) else ("" if not self.legacy else None)

    @property
    def text(self) -> str:
        parts, star = [], False
        for each in self.parameters:
            if each.kind == KEYWORD and not star:
                parts += [] if self.has(REST) else ["*"]
                star = True
            parts.append(each.shown)
        return f"({', '.join(parts)})"


def read(arguments: ast.arguments, *, drop_first: bool, constants: dict[str, str] | None = None) -> Signature:
    """From the parameters of a def; `constants`: what names among the defaults stand for."""
    places = [(each, POSITIONAL) for each in arguments.posonlyargs] + [
        (each, EITHER) for each in arguments.args
    ]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(arguments.defaults)) + list(
        arguments.defaults
    )
    rows = [(each, kind, default) for (each, kind), default in zip(places, defaults, strict=True)]
    rows = rows[1:] if drop_first else rows
    if arguments.vararg:
        rows.append((arguments.vararg, REST, None))
    rows += [
        (each, KEYWORD, default)
        for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        rows.append((arguments.kwarg, OPTIONS, None))
    return Signature(
        tuple(
            Parameter(
                each.arg, kind, index, _text(default, constants or {}), _text(each.annotation, {}) or ""
            )
            for index, (each, kind, default) in enumerate(rows)
        )
    )


def _text(node: ast.expr | None, constants: dict[str, str]) -> str | None:
    if node is None:
        return None
    text = ast.unparse(node)
    return f"{text} ({constants[text]})" if text in constants and constants[text] != text else text
