"""The first bad one of places in order, some of which cannot be told. Pure: whoever is asked may do what he likes."""

from collections.abc import Callable, Set
from dataclasses import dataclass
from itertools import pairwise

from .answer import Answer


@dataclass(frozen=True)
class Boundary:
    """The last good place and the first that is bad; those `between` the two could not be told."""

    good: int
    bad: int
    between: tuple[int, ...] = ()


def find_boundary(count: int, ask: Callable[[int], Answer]) -> Boundary:
    """Of places 0, good, to `count` - 1, bad. No place is asked twice.

    Where they go from good to bad more than once, it is one of these changes and need not be the first.
    """
    good, bad, unknown = 0, count - 1, set[int]()
    while run := _longest_run(good, bad, unknown):
        place = run[len(run) // 2]
        answer = ask(place)
        if answer == Answer.GOOD:
            good = place
        elif answer == Answer.BAD:
            bad = place
        else:
            unknown.add(place)
    return Boundary(good, bad, tuple(range(good + 1, bad)))


def most_probes(count: int) -> int:
    """How many places are asked at most if each of them can be told."""
    return max(0, count - 2).bit_length()


def _longest_run(good: int, bad: int, unknown: Set[int]) -> range:
    """The longest run of places not asked yet: beside one that cannot be told, its neighbours seldom can."""
    edges = [good, *sorted(place for place in unknown if good < place < bad), bad]
    runs = [range(start + 1, end) for start, end in pairwise(edges)]
    return max(runs, key=len)
