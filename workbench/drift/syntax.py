"""One file as scopes, bindings, imports, calls and reads, each with its place in the flow. Nothing is imported."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field

Path = tuple[
    tuple[ast.AST, str], ...
]  # the blocks around a statement: (the if, "body"), (the try, "handlers")
LAST = 1 << 60


@dataclass(eq=False)
class Scope:
    """The names of a module, class, function or lambda."""

    kind: str
    node: ast.AST
    module: Module
    parent: Scope | None = None
    qualname: str = ""
    order: int = LAST  # where it stands in its parent
    path: Path = ()
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    attributes: dict[str, list[Binding]] = field(default_factory=dict)  # of a class: self.x = ...
    foreign: set[str] = field(default_factory=set)  # global or nonlocal

    @property
    def self_name(self) -> str | None:
        """The first parameter of a method."""
        node = self.node
        if (
            self.parent
            and self.parent.kind == "class"
            and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ):
            first = [*node.args.posonlyargs, *node.args.args][:1]
            static = any(
                isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list
            )
            return first[0].arg if first and not static else None
        return None


@dataclass(eq=False)
class Place:
    """Where something stands: in which scope, after what, inside which blocks."""

    scope: Scope
    order: int
    path: Path


@dataclass(eq=False)
class Binding:
    """One way a name gets a value. `how`: import, value, item (of a tuple), each (of a loop), def, class, append,
    key, annotated, parameter, caught."""

    how: str
    place: Place
    node: ast.AST
    value: ast.expr | None = None
    index: int = 0
    dotted: str = ""
    default: ast.expr | None = None  # of a parameter


@dataclass(eq=False)
class Import:
    """One imported name: `dotted` is what must exist, `star` for all of a module."""

    dotted: str
    node: ast.Import | ast.ImportFrom
    place: Place
    star: bool = False
    whole: bool = False  # a module, rather than a name from one


@dataclass(eq=False)
class Use:
    node: ast.AST
    place: Place


@dataclass(eq=False)
class Module:
    """`package`: what relative imports start from. `broken`: why it cannot be read as Python."""

    name: str
    package: str
    file: str
    text: str
    broken: str = ""
    top: Scope = field(init=False)
    imports: list[Import] = field(default_factory=list)
    calls: list[Use] = field(default_factory=list)
    reads: list[Use] = field(default_factory=list)
    writes: list[Use] = field(default_factory=list)
    scopes: dict[int, Scope] = field(default_factory=dict)  # by id of the def, class or lambda
    returns: dict[int, Place] = field(default_factory=dict)  # by id of the return or yield
    stars: list[Import] = field(default_factory=list)
    tree: ast.Module = field(default_factory=lambda: ast.Module([], []))

    def __post_init__(self) -> None:
        from .flow import Flow

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self.broken = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
        self.top = Scope("module", self.tree, self)
        self.scopes[id(self.tree)] = self.top
        Flow(self).read(self.tree.body)


def reaching(bindings: list[Binding], order: int, path: Path) -> list[Binding]:
    """Those that a use at this place may see: the last one that is surely passed hides what came before it."""
    near = [each for each in bindings if each.place.order < order or _same_loop(each.place.path, path)]
    if not near:
        return []
    start = 0
    for position, each in enumerate(near):
        certain = each.place.path == path[: len(each.place.path)] and each.place.order < order
        if certain and each.how not in ("append", "key"):
            start = position
    return [each for each in near[start:] if not _exclusive(each.place.path, path)]


def _same_loop(one: Path, other: Path) -> bool:
    return any(mine == theirs and mine[1] == "loop" for mine, theirs in zip(one, other, strict=False))


def _exclusive(one: Path, other: Path) -> bool:
    """In the two branches of the same if."""
    for (mine, branch), (theirs, another) in zip(one, other, strict=False):
        if mine is not theirs:
            return False
        if branch != another:
            return isinstance(mine, ast.If)
    return False
