"""Which names in a statement mean something of the module, rather than something of a function. Pure."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def module_names(statement: ast.AST) -> Sequence[ast.Name]:
    """Every mention of a name that the module, or Python itself, gives its meaning."""
    found = _Found()
    found.visit(statement)
    return found.names


def bound(statement: ast.AST) -> set[str]:
    """The names that a statement gives a meaning to in its own scope, functions and classes within left out."""
    return set(_bound([statement]))


class _Found(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: list[ast.Name] = []
        self.local: list[set[str]] = []

    def visit_Name(self, node: ast.Name) -> None:
        if not any(node.id in names for names in self.local):
            self.names.append(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        arguments = node.args
        around = [*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)]
        notes = [each.annotation for each in _arguments(arguments) if each.annotation]
        self._all([*around, *notes, *([node.returns] if node.returns else [])])
        self._within(_locals(arguments, node.body), node.body)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._all([*node.args.defaults, *filter(None, node.args.kw_defaults)])
        self._within(_locals(node.args, [node.body]), [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._all([*node.decorator_list, *node.bases, *node.keywords])
        methods = [each for each in node.body if isinstance(each, FUNCTIONS)]
        self._within(set(_bound(node.body)), [each for each in node.body if each not in methods])
        self._all(methods)  # a method does not see the names of its class

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, COMPREHENSIONS):
            super().generic_visit(node)
            return
        first, targets = node.generators[0].iter, [each.target for each in node.generators]
        self.visit(first)
        self.local.append(set(_bound(targets)))
        for child in ast.iter_child_nodes(node):
            parts = ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else [child]
            self._all([part for part in parts if part is not first])
        self.local.pop()

    def _within(self, names: set[str], nodes: list[ast.stmt] | list[ast.expr]) -> None:
        self.local.append(names)
        self._all(nodes)
        self.local.pop()

    def _all(self, nodes: list) -> None:  # type: ignore[type-arg]
        for node in nodes:
            self.visit(node)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    starred = filter(None, (arguments.vararg, arguments.kwarg))
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *starred]


def _locals(arguments: ast.arguments, body: list) -> set[str]:  # type: ignore[type-arg]
    of_module = {name for node in body for each in ast.walk(node) for name in _declared(each)}
    return ({each.arg for each in _arguments(arguments)} | set(_bound(body))) - of_module


def _declared(node: ast.AST) -> list[str]:
    return node.names if isinstance(node, ast.Global) else []


def _bound(nodes: list) -> Iterator[str]:  # type: ignore[type-arg]
    left = list(nodes)
    while left:
        node = left.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((each.asname or each.name).partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif not isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            left.extend(ast.iter_child_nodes(node))
