"""Environments by turns on one GPU, so that drift meets all of them alike. Pure: who is visited when.

Two are visited A B B A, more in turn and back again; each generation of processes begins with another one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import dumps

from workbench.environments import Environment
from workbench.planning import Planned
from workbench.results import Outcome, Result, Trial
from workbench.untrusted import part

GENERATIONS: Mapping[str, int] = {"quick": 1, "default": 5, "thorough": 12}
"""Processes a side by effort: what the comparison's rule of the same name asks for."""
ALONE = "one after the other"  # the mark of visits that could not be interleaved: memory did not hold both
NO_ROOM = f"memory does not hold all sides at once: {ALONE}, so that drift does not cancel"


@dataclass(frozen=True)
class Arm:
    """One side of a comparison: an environment, and a name where it is there twice (A/A)."""

    environment: Environment
    name: str

    @property
    def place(self) -> str:
        return f"{self.environment.name} {self.name}"


@dataclass(frozen=True)
class Visit:
    """`number` counts the visits to this arm within its process, from 1."""

    arm: Arm
    generation: int
    number: int


def arms(environments: Iterable[Environment], count: int) -> list[Arm]:
    """Each environment `count` times; named only where that is more than once."""
    names = [""] if count == 1 else [chr(ord("a") + place) for place in range(count)]
    return [Arm(environment, name) for environment in environments for name in names]


def visits(sides: Sequence[Arm], generation: int) -> list[Visit]:
    """Two visits to each: in turn and back, beginning with another arm in each generation."""
    shift = (generation - 1) % len(sides)
    there = [*sides[shift:], *sides[:shift]]
    return [Visit(arm, generation, 1) for arm in there] + [
        Visit(arm, generation, 2) for arm in reversed(there)
    ]


def left(
    stored: Iterable[Result], asked: Collection[tuple[Trial, str]], count: int, card: str | None
) -> range:
    """The generations that a run still needs of `count` on this card, after the attempts that it has stored.

    `asked` are trials and arms. A generation that was stopped in its middle is made again, under a new number, and
    so are those of another card: sides meet on one.
    """
    ended: dict[int, set[tuple[Trial, str]]] = {}
    for each in stored:
        there, on = ended.setdefault(each.generation, set()), part(each.provenance, "gpu", "uuid_hash")
        if on in (None, card) and (each.visit == 2 or each.outcome != Outcome.OK):
            there.add((each.trial, each.arm))
    whole, last = sum(there >= set(asked) for there in ended.values()), max(ended, default=0)
    return range(last + 1, last + 1 + count - whole)


def questions(todo: Iterable[Planned]) -> list[dict[Environment, Planned]]:
    """Trials that differ in their environment alone, together."""
    found: dict[tuple[str, str, str], dict[Environment, Planned]] = {}
    for planned in todo:
        trial = planned.trial
        key = (trial.kernel, dumps(trial.case, sort_keys=True), trial.mode)
        found.setdefault(key, {})[planned.environment] = planned
    return list(found.values())
