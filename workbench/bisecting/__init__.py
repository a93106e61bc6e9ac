"""Which release, or which package of two environments, makes a trial bad: a search by halves, one at a time."""

from .answer import Answer
from .asked import Asked
from .axis import Axis, Candidates, axis, candidates
from .deciding import Until
from .found import Found, fact, facts, text
from .plan import Plan, plan
from .probing import Probe, probe
from .searching import moves, over_lock, over_releases

__all__ = [
    "Answer", "Asked", "Axis", "Candidates", "Found", "Plan", "Probe", "Until", "axis", "candidates", "fact", "facts",
    "moves", "over_lock", "over_releases", "plan", "probe", "text",
]  # fmt: skip
