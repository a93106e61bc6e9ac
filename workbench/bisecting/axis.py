"""Two environments that differ in the version of one package, and the versions between the two. Pure."""

import shlex
from dataclasses import dataclass, field

from workbench.environments import Releases
from workbench.environments.requirement import COMPONENT, DONOR, distribution_of, exact, read_word


@dataclass(frozen=True)
class Axis:
    """`package` is what is listed; `before` and `after` are the specs' words around `stem`==version."""

    package: str
    stem: str
    good: str
    bad: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def spec(self, version: str) -> str:
        """The environment with this version, as a user writes it."""
        return shlex.join([*self.before, f"{self.stem}=={version}", *self.after])


@dataclass(frozen=True)
class Candidates:
    """`versions` from good to bad, both ends among them; `left_out` are others between the two, each with why."""

    versions: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)


def axis(good: str, bad: str) -> Axis | None:
    """None where they differ in more than the version of one package. Raises ValueError for what is no spec."""
    words, others = shlex.split(good), shlex.split(bad)
    differ = [place for place, pair in enumerate(zip(words, others, strict=False)) if pair[0] != pair[1]]
    if len(words) != len(others) or len(differ) != 1:
        return None
    (place,) = differ
    one, other = _versioned(words[place]), _versioned(others[place])
    if one is None or other is None or one[:2] != other[:2]:
        return None
    return Axis(one[0], one[1], one[2], other[2], tuple(words[:place]), tuple(words[place + 1 :]))


def candidates(along: Axis, found: Releases) -> Candidates:
    """The versions from good to bad, upwards or downwards; pre-releases only where an end is one."""
    from packaging.version import Version

    ends = Version(along.good), Version(along.bad)
    wanted = any(end.is_prerelease for end in ends)
    between = [each for each in found.versions if min(ends) < Version(each) < max(ends)]
    early = {each: "pre-release" for each in between if Version(each).is_prerelease and not wanted}
    taken = sorted((each for each in between if each not in early), key=Version, reverse=ends[0] > ends[1])
    left_out = {each: why for each, why in found.left_out.items() if min(ends) < Version(each) < max(ends)}
    return Candidates((along.good, *taken, along.bad), left_out | early)


def _versioned(word: str) -> tuple[str, str, str] | None:
    """What is listed for a word, the part before its version, and that version; None where it has none."""
    from packaging.requirements import Requirement

    name, _, requirement = read_word(word, False)
    stem, _, version = requirement.partition("==")
    if name == COMPONENT:
        return DONOR, stem, version
    if requirement.startswith("/") or exact(Requirement(requirement)) is None:
        return None
    return distribution_of(requirement), stem, version.lstrip("=")
