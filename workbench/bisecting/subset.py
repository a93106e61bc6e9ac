"""Delta debugging: of things that are bad together, a few that still are and can spare none. Pure.

Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002 (ddmin), with answers remembered.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .answer import Answer


@dataclass(frozen=True)
class Culprits:
    """`together` they are bad. Without one of the `unsure` it cannot be told; without any other it is not bad."""

    together: tuple[str, ...]
    unsure: tuple[str, ...] = ()


def find_culprits(items: Sequence[str], ask: Callable[[frozenset[str]], Answer]) -> Culprits:
    """Of `items`, which are bad together and not without all of them. No set is asked twice."""
    answers: dict[frozenset[str], Answer] = {frozenset(): Answer.GOOD, frozenset(items): Answer.BAD}

    def answer(some: Sequence[str]) -> Answer:
        chosen = frozenset(some)
        if chosen not in answers:
            answers[chosen] = ask(chosen)
        return answers[chosen]

    left, parts = list(items), 2
    while len(left) > 1:
        pieces = _pieces(left, parts)
        smaller = [*pieces, *(_without(left, piece) for piece in pieces)]
        found = next((place for place, some in enumerate(smaller) if answer(some) == Answer.BAD), None)
        if found is not None:
            left, parts = smaller[found], 2 if found < len(pieces) else max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(2 * parts, len(left))
    unsure = [each for each in left if answer(_without(left, [each])) == Answer.UNKNOWN]
    return Culprits(tuple(left), tuple(unsure))


def most_probes(count: int) -> int:
    """How many sets are asked at most if one item does it alone and each set can be told."""
    return 2 * max(0, count - 1).bit_length()


def _pieces(left: Sequence[str], parts: int) -> list[list[str]]:
    """As many pieces of nearly the same size, none empty."""
    edges = [place * len(left) // parts for place in range(parts + 1)]
    return [list(left[start:end]) for start, end in pairwise(edges)]


def _without(left: Sequence[str], some: Sequence[str]) -> list[str]:
    return [each for each in left if each not in some]
