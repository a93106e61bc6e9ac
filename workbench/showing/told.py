"""What an output tells the index of its page: an answer, findings, whose results they are and of which days.

It travels as metadata of the output's HTML, so the index says what the page shows, and nothing is found out twice.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.untrusted import plain

HTML = "text/html"
MOST_LINES, LONGEST = 40, 600


@dataclass(frozen=True)
class Told:
    """`days` are the first and the last; whatever no output told is empty."""

    answer: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    source: str = ""
    days: tuple[str, str] | None = None


def telling(html: str, text: str, **facts: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """What a `_repr_mimebundle_` returns; `facts` are named as in Told."""
    return {HTML: html, "text/plain": text}, {HTML: facts}


def told(notebook: Mapping[str, Any]) -> Told:
    """The first of each kind that an executed notebook's outputs tell."""
    facts: dict[str, Any] = {}
    for each in _metadata(notebook):
        facts = {**each, **facts}
    days = _lines(facts.get("days"))
    return Told(
        _lines(facts.get("answer")),
        _lines(facts.get("findings")),
        plain(facts.get("source", ""), LONGEST),
        (days[0], days[1]) if len(days) == 2 else None,
    )


def _metadata(notebook: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    outputs = (output for cell in notebook["cells"] for output in cell.get("outputs", ()))
    return (output.get("metadata", {}).get(HTML, {}) for output in outputs)


def _lines(said: Any) -> tuple[str, ...]:
    return tuple(plain(line, LONGEST) for line in said[:MOST_LINES]) if isinstance(said, list) else ()
