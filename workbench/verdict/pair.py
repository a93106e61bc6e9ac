"""One trial in two environments, and what became of it in one word."""

from dataclasses import dataclass

from workbench.comparison import Change
from workbench.results import Result, Trial
from workbench.verdict.ends import End, same_version
from workbench.verdict.word import Word

VERIFIED = "verified"  # what `Result.rerun` says of a regression that was run again


@dataclass(frozen=True)
class Pair:
    """`why` says it in words; `settle` is what would settle it (a key of `settling`), with `more` processes a side.

    `again` is True where a regression came again when it was run again, False where not, None where it was not.
    `repeat` is its time then, also of one that is slower only together with others.
    """

    trial: Trial  # the candidate's, or the baseline's where the candidate has none
    family: str
    weight: float
    required: bool
    before: End | None
    after: End | None
    change: Change | None
    word: Word
    why: str
    settle: str = ""
    more: int = 0
    again: bool | None = None
    repeat: Change | None = None

    @property
    def votes(self) -> bool:
        return self.weight > 0 or self.required

    def same_contents(self, result: Result) -> bool:
        """Whether an attempt is of the contents and the kernel file by which its side is judged, if it is of a side."""
        sides = {end.result.trial.environment: end.result for end in (self.before, self.after) if end}
        return same_version(result, sides.get(result.trial.environment, result))
