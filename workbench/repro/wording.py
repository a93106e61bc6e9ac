"""The text of the pieces: as it stands in their files, comments included, with the names that they have here."""

import ast
import re
from collections.abc import Callable, Sequence
from functools import cache

from workbench.repro.following import Following
from workbench.repro.source import Import, Mention, Source

HOISTED = "import torch"  # what functions here import for themselves, for the host has none
FOR_OUR_CHECKER = re.compile(rb"  # type: ignore\b.*$")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def body(followed: Following, head: Callable[[Source], str]) -> str:
    """All pieces, file after file; `head` is what is said before those of a file."""
    parts = []
    for file in followed.files():
        source = followed.source(file)
        given = [
            text for name, text in followed.given.items() if name.file == file and name in followed.reached
        ]
        pieces = _spaced([*given, *(_text(followed, source, each) for each in followed.pieces(file))])
        parts.append("\n\n".join(filter(None, [head(source), pieces])))
    return "\n\n\n".join(filter(None, parts))


def imports(followed: Following) -> set[Import]:
    """What the pieces import at the top of their files; torch, where a function imports it."""
    found = set()
    for file in followed.files():
        for statement in followed.pieces(file):
            found |= followed.source(file).imported(statement)
            found |= {Import("", "torch")} if followed.torch_on_top and _hoisted(statement) else set()
    return found


def _text(followed: Following, source: Source, statement: ast.stmt) -> str:
    lines = dict(enumerate(source.lines, start=1))
    for mention in sorted(source.mentions(statement), key=_place, reverse=True):
        _rename(source, mention, followed.shown[followed.meant(mention.meant)], lines)
    if isinstance(statement, DEFINITIONS):
        words = rb"(\b(?:def|class)\s+)" + statement.name.encode() + rb"\b"
        shown = rb"\g<1>" + followed.shown[source.named(statement.name)].encode()
        lines[statement.lineno] = re.sub(words, shown, lines[statement.lineno], count=1)
    left_out = _left_out(followed, source, statement)
    kept = [lines[number] for number in _lines(source, statement) if number not in left_out]
    return b"\n".join(FOR_OUR_CHECKER.sub(b"", line) for line in kept).decode()


def _rename(source: Source, mention: Mention, shown: str, lines: dict[int, bytes]) -> None:
    node = mention.node
    line, start, end = lines[node.lineno], node.col_offset, node.end_col_offset
    if node.lineno != node.end_lineno or line[start:end] != mention.written.encode():
        raise ValueError(
            f"{source.file.name}, line {node.lineno}: {mention.written} cannot be given another name"
        )
    lines[node.lineno] = line[:start] + shown.encode() + line[end:]


def _lines(source: Source, statement: ast.stmt) -> range:
    """From the comments right above it to its end."""
    first = _first(statement)
    while first > 1 and source.lines[first - 2].startswith(b"#"):
        first -= 1
    return range(first, (statement.end_lineno or statement.lineno) + 1)


def _first(statement: ast.stmt) -> int:
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])


def _left_out(followed: Following, source: Source, statement: ast.stmt) -> set[int]:
    """Lines of imports that stand on top here, and of methods that nobody calls; each with an empty line."""
    found: set[int] = set()
    for each in _hoisted(statement) if followed.torch_on_top else ():
        found |= {each.lineno, *([each.lineno + 1] if not source.lines[each.lineno].strip() else [])}
    if isinstance(statement, ast.ClassDef):
        kept = {each.lineno for each in statement.body}
        whole = next(each for each in source.tree.body if each.lineno == statement.lineno)
        for each in whole.body if isinstance(whole, ast.ClassDef) else []:
            if each.lineno not in kept:
                found |= {_first(each) - 1, *range(_first(each), (each.end_lineno or each.lineno) + 1)}
    return found


@cache
def _hoisted(statement: ast.stmt) -> Sequence[ast.stmt]:
    functions = [each for each in ast.walk(statement) if isinstance(each, ast.FunctionDef)]
    inner = [each for function in functions for each in function.body if isinstance(each, ast.Import)]
    return [each for each in inner if ast.unparse(each) == HOISTED]


def _place(mention: Mention) -> tuple[int, int]:
    return mention.node.lineno, mention.node.col_offset


def _spaced(pieces: Sequence[str]) -> str:
    """Functions and classes stand apart by two empty lines, other statements by none."""
    text = ""
    for before, piece in zip(["", *pieces], pieces, strict=False):
        apart = "\n\n\n" if _is_long(before) or _is_long(piece) else "\n"
        text += (apart if before else "") + piece
    return text


def _is_long(piece: str) -> bool:
    return re.search(r"^(?:@|def |async def |class )", piece, re.MULTILINE) is not None
