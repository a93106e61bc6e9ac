"""What an expression may be, as far as reading tells: the values that names are followed to.

An empty set of values means "not known", never "nothing".
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .syntax import Scope

Values = frozenset[Any]
NOTHING: Values = frozenset()


@dataclass(frozen=True)
class Name:
    """Something imported, by its dotted path. `bound`: reached through an instance, so self is filled in."""

    dotted: str
    bound: bool = False


@dataclass(frozen=True, eq=False)
class Local:
    """A function (or lambda) whose source is at hand."""

    module: str
    qualname: str
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope  # where it is defined
    inner: Scope  # its own names
    owner: LocalClass | None = None
    bound: bool = False


@dataclass(frozen=True, eq=False)
class LocalClass:
    module: str
    qualname: str
    node: ast.ClassDef
    scope: Scope
    inner: Scope


@dataclass(frozen=True)
class Made:
    """An instance of `cls`."""

    cls: Any


@dataclass(frozen=True)
class Super:
    """What `super()` is inside a method of `cls`."""

    cls: Any


@dataclass(frozen=True)
class Arguments:
    """What a call hands over. None among `keywords`' optional ones: set on some paths only.

    `star`: positions at which a sequence of unknown length is spread; `open`: a mapping of unknown keys is.
    """

    positional: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    star: int | None = None
    open: bool = False

    def before(self, later: Arguments) -> Arguments:
        """These, filled in by functools.partial, and then those of the call."""
        star = self.star if self.star is not None else later.star
        if self.star is None and later.star is not None:
            star = later.star + len(self.positional)
        names = tuple(dict.fromkeys(self.keywords + later.keywords))
        return Arguments(
            self.positional + later.positional,
            names,
            tuple(name for name in dict.fromkeys(self.perhaps + later.perhaps) if name not in names),
            star,
            self.open or later.open,
        )


@dataclass(frozen=True)
class Partial:
    callee: Any
    given: Arguments


@dataclass(frozen=True)
class Items:
    """A sequence of known length."""

    parts: tuple[Values, ...]


@dataclass(frozen=True)
class Many:
    """A container; what it holds, wherever."""

    inner: Values


@dataclass(frozen=True)
class Keys:
    """A dict whose keys are known; `perhaps` are those set on some paths only; `added`: to another one."""

    known: tuple[str, ...]
    inner: Values = field(default=NOTHING, compare=False)
    perhaps: tuple[str, ...] = ()
    added: bool = False


@dataclass(frozen=True)
class Constant:
    value: Any

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True)
class Closure:
    """A function made inside another one; `held` is what the outer one was called with, by parameter."""

    function: Local
    held: tuple[tuple[str, Values], ...]


@dataclass(frozen=True)
class Wrapped:
    """What a function nobody can look into made of a value: most likely still callable the same way."""

    value: Any
    by: str


@dataclass(frozen=True)
class Dead:
    """A value that the other version never gets to, and why."""

    value: Any
    why: str


CALLABLE = (Name, Local, LocalClass, Partial, Closure, Wrapped, Dead)
