"""What a call hands over, spread sequences and dicts resolved where their contents are known."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .syntax import Place
from .values import Arguments, Items, Keys, Values

if TYPE_CHECKING:
    from .evaluate import Evaluator


def arguments(ev: Evaluator, node: ast.Call, place: Place, skip: int = 0) -> Arguments:
    """What a call hands over, spread sequences and dicts resolved where their contents are known."""
    positional: list[str] = []
    star: int | None = None
    for each in node.args[skip:]:
        length = _length(ev.value(each.value, place)) if isinstance(each, ast.Starred) else 1
        if length is None:
            star = len(positional) if star is None else star
        elif isinstance(each, ast.Starred):
            positional += [f"{ast.unparse(each.value)}[{at}]" for at in range(length)]
        else:
            positional.append(ast.unparse(each))
    names = [word.arg for word in node.keywords if word.arg]
    perhaps: list[str] = []
    unknown = False
    for word in node.keywords:
        if word.arg is None:
            keys = ev.value(word.value, place)
            sure = [set(each.known) for each in keys if _whole(each)]
            unknown |= not sure or not all(isinstance(each, Keys) for each in keys)
            always = set.intersection(*sure) if sure else set()
            always |= {name for each in keys if isinstance(each, Keys) and each.added for name in each.known}
            names += [name for name in _ordered(keys) if name in always]
            perhaps += [name for name in _ordered(keys) if name not in always]
    return Arguments(tuple(positional), tuple(names), tuple(perhaps), star, unknown)


def _whole(value: Any) -> bool:
    return isinstance(value, Keys) and not value.added and not value.perhaps


def _ordered(keys: Values) -> list[str]:
    found = [name for each in keys if isinstance(each, Keys) for name in (*each.known, *each.perhaps)]
    return list(dict.fromkeys(found))


def _length(values: Values) -> int | None:
    lengths = {len(each.parts) if isinstance(each, Items) else None for each in values}
    return lengths.pop() if len(lengths) == 1 else None
