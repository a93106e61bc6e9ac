"""Asks one environment after another, over releases or over the difference of two locks; both ends first."""

from collections.abc import Callable, Sequence

from workbench.environments import BuildError, Built, Environment

from . import mixing
from .answer import Answer
from .asked import Asked, build
from .axis import Candidates
from .found import Found
from .ordered import find_boundary
from .probing import Probe, probe
from .subset import find_culprits

Say = Callable[[Probe], None]


def over_releases(
    asked: Asked, candidates: Candidates, made: Callable[[str], Environment], say: Say
) -> Found:
    """`made`: version -> environment."""
    versions = candidates.versions
    good, bad, problem = _ends(asked, made(versions[0]), made(versions[-1]), say)
    if problem:
        return Found("releases", good, bad, (good, bad), left_out=candidates.left_out, problem=problem)
    probes = {0: good, len(versions) - 1: bad}

    def ask(place: int) -> Answer:
        probes[place] = _told(probe(asked, made(versions[place])), say)
        return probes[place].answer

    edge = find_boundary(len(versions), ask)
    unsure = tuple(versions[place] for place in edge.between)
    return Found(
        "releases",
        probes[edge.good],
        probes[edge.bad],
        tuple(probes.values()),
        unsure,
        (),
        candidates.left_out,
    )


def over_lock(asked: Asked, good_one: Environment, bad_one: Environment, say: Say) -> Found:
    """Which packages of the bad end make the good one bad. Raises ValueError where the two have the same versions."""
    good, bad, problem = _ends(asked, good_one, bad_one, say)
    if problem:
        return Found("lock", good, bad, (good, bad), problem=problem)
    assert good.built and bad.built
    one, other = good.built, bad.built
    found = _differing(one, other)
    probes: dict[frozenset[str], Probe] = {}

    def ask(moved: frozenset[str]) -> Answer:
        environment = mixing.mixed(one, other, found, moved)
        probes[moved] = _told(
            probe(asked, environment, lambda built: "; ".join(mixing.strays(built, one, found, moved))), say
        )
        return probes[moved].answer

    every = [each.package for each in found]
    if ask(frozenset(every)) != Answer.BAD:
        all_asked = (good, bad, *probes.values())
        return Found("lock", good, bad, all_asked, problem=_elsewhere(found, probes[frozenset(every)]))
    culprits = find_culprits(every, ask)
    moves = tuple(each for each in found if each.package in culprits.together)
    flipped = probes[frozenset(culprits.together)]
    return Found("lock", good, flipped, (good, bad, *probes.values()), culprits.unsure, moves)


def moves(asked: Asked, good: Environment, bad: Environment) -> list[mixing.Move]:
    """What differs between the two, which are built for it. Raises ValueError where one cannot be, or nothing does."""
    try:
        return _differing(build(asked, good), build(asked, bad))
    except BuildError as problem:
        raise ValueError(f"an end cannot be built: {problem}") from problem


def _differing(good: Built, bad: Built) -> list[mixing.Move]:
    found = mixing.moves(good, bad)
    if not found:
        raise ValueError(
            "both environments have the same versions of all packages that are recorded: there is nothing between them"
        )
    return found


def _ends(asked: Asked, good: Environment, bad: Environment, say: Say) -> tuple[Probe, Probe, str]:
    """Both, and what speaks against using them; the bad one is asked only where the good one is good."""
    one = _told(probe(asked, good), say)
    if problem := _problem(one, Answer.GOOD):
        (planned,) = asked.planned(bad)
        return one, Probe(planned.trial, Answer.UNKNOWN, "not asked"), problem
    other = _told(probe(asked, bad), say)
    return one, other, _problem(other, Answer.BAD)


def _problem(end: Probe, wanted: Answer) -> str:
    if end.answer == Answer.UNKNOWN:
        return f"whether the {wanted} end is {wanted} cannot be told: {end.environment}: {end.why}"
    return "" if end.answer == wanted else f"the {wanted} end is {end.answer}: {end.environment}: {end.why}"


def _elsewhere(found: Sequence[mixing.Move], every: Probe) -> str:
    return (
        f"the {len(found)} packages that differ, moved together, are {every.answer} ({every.why}): it is not, or not "
        "only, a package that can be moved (Python, what is inherited, or contents of one version)"
    )


def _told(found: Probe, say: Say) -> Probe:
    say(found)
    return found
