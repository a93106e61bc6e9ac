"""Which sources of a module a number type needs, read from the sources themselves.

Large modules are mostly sources that do nothing but instantiate templates, for one pair of operand types each. One
of those is left out where none of its instantiations has the wanted types for its operands; all others are kept.
What is wanted is written `bf16` where both operands are, `bf16-fp4` for bfloat16 times e2m1, several with commas.
Sources can be left out by a part of their names, too.
Functions that are missing then are found missing when they are called: the loader binds functions late.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

SPELLED = {"bf16": ("bfloat16", "bf16"), "fp16": ("half", "fp16"), "fp8": ("fp8",), "fp4": ("fp4", "e2m1")}
NUMBER = re.compile(r"\b\w*(?:bfloat16|bf16|half|fp16|fp8|fp4|float|double|int8|int4)\w*", re.IGNORECASE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
INSTANTIATION = re.compile(
    r"(?:template\s+(?:class|struct|void|[\w:]+)\s[^;{}]*;|\bINSTANTIATE\w*\s*\([^;{}]*?\)\s*;?)"
)
AROUND = re.compile(
    r"^\s*#[^\n]*(?:\\\n[^\n]*)*|\busing\s+[^;]*;|\b(?:inline\s+)?namespace\b[\s\w:]*|[{};]", re.MULTILINE
)


@dataclass(frozen=True)
class Trim:
    """What is not compiled: templates of other number types than `only`, and sources with `leave_out` in the name.

    Both may be several, with commas. Raises ValueError where `only` names a type that there is not.
    """

    only: str | None = None
    leave_out: str = ""

    def __post_init__(self) -> None:
        if self.only and not all(pair and set(pair) <= set(SPELLED) for pair in _pairs(self.only)):
            known = ", ".join(SPELLED)
            raise ValueError(
                f"--only {self.only}: {known}, or two for two operands, as bf16-fp4; several with commas"
            )

    def kept(self, sources: Collection[Path]) -> set[Path]:
        """Raises OSError."""
        some = needed(sources, self.only) if self.only else sources
        left_out = [text for text in self.leave_out.split(",") if text]
        return {source for source in some if not any(text in source.name for text in left_out)}

    @property
    def mark(self) -> str:
        """What is said of a module that lacks something for it."""
        only = f"{self.only} templates only" if self.only else ""
        return ", ".join(filter(None, (only, self.leave_out and f"without {self.leave_out}")))


def needed(sources: Iterable[Path], only: str) -> list[Path]:
    """Those of `sources` that are kept for the number types `only`. Raises OSError."""
    return [source for source in sources if not _of_others(source.read_text("utf-8", "replace"), only)]


def _of_others(text: str, only: str) -> bool:
    """Whether it only instantiates templates, and none of them for `only`."""
    text = COMMENT.sub("", text)
    found = INSTANTIATION.findall(text)
    rest = AROUND.sub("", INSTANTIATION.sub("", text))
    typed = [numbers[:2] for each in found if len(numbers := _numbers(each)) >= 2]
    return not rest.strip() and bool(typed) and not any(_wanted(operands, only) for operands in typed)


def _numbers(instantiation: str) -> list[str]:
    """The number types among its arguments, in order: those of the operands come first."""
    return NUMBER.findall(re.split(r"[<(]", instantiation, maxsplit=1)[-1].lower())


def _wanted(operands: list[str], only: str) -> bool:
    return any(
        all(
            any(word in operand for word in SPELLED[number])
            for operand, number in zip(operands, pair, strict=True)
        )
        for pair in _pairs(only)
    )


def _pairs(only: str) -> list[list[str]]:
    """The types of both operands: `bf16,bf16-fp4` is bf16 and bf16, bf16 and fp4; [] for what is neither."""
    split = [each.split("-") for each in only.split(",")]
    return [each * 2 if len(each) == 1 else each if len(each) == 2 else [] for each in split]
