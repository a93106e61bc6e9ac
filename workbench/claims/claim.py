"""One claim: a function, a GPU, and what is said of the two."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """`exact` and `family`: yes, no, or None where nothing is stated. `stands_out`: it is not what was measured."""

    function: str
    kernel: str
    sm: int
    exact: bool | None
    family: bool | None
    how: str
    detail: str = ""
    measured: str = ""
    known_issues: tuple[str, ...] = ()
    stands_out: bool = False

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def said(self) -> str:
        return {True: "yes", False: "no", None: "not stated"}[self.exact]
