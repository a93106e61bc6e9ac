"""A row of drift."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Change:
    """`index_from` and `index_to` count parameters from 0, without self."""

    function: str
    change: str
    parameter: str = ""
    index_from: int | None = None
    index_to: int | None = None
    detail: str = ""

    def facts(self) -> dict[str, Any]:
        return asdict(self)
