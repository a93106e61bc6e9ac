"""A skew: something in an environment that does not fit together."""

from dataclasses import asdict, dataclass
from typing import Any

SKEW, NOTE = "skew", "note"


@dataclass(frozen=True)
class Skew:
    """`level`: skew, which speaks against the environment, or note, which is good to know."""

    name: str
    what: str
    why: str
    fix: str
    level: str = SKEW

    def facts(self) -> dict[str, Any]:
        return asdict(self)
