"""The facts of one failed attempt, made safe: the only fields that the rules may read."""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .arch import sms_of
from .text import lines_of

DEEPEST, MOST_NUMBERS = 6, 2_000


@dataclass(frozen=True)
class Evidence:
    """`lines` is what was printed, in order; `facts` the JSON objects that the worker printed, as one."""

    kind: str = ""
    sms: frozenset[int] = frozenset()
    versions: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    measurements: Any = None
    code: int | None = None
    ours: bool = False
    stage: str = ""
    exception: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def died_of(self) -> int:
        """The signal that ended the process, in Python's form (-9) or the shell's (137); 0 if none."""
        if self.code is None:
            return 0
        if self.code < 0:
            return -self.code
        return self.code - 128 if 128 < self.code <= 160 else 0

    @property
    def finished(self) -> bool:
        """Whether nothing says that the attempt failed: it is judged by its numbers."""
        ended_well = self.code == 0 or (self.code is None and self.stage == "done")
        failed = self.facts.get("status") in ("error", "failed", "exception", "crashed")
        return ended_well and not (self.exception or self.ours or failed)


def gather(record: Mapping[str, Any]) -> Evidence:
    """Evidence from a record of any quality. Fields of the wrong type are as good as absent."""
    exception, message = _word(record.get("exception")), record.get("message")
    said = (
        lines_of(f"{exception}: {message}") if isinstance(message, str) and exception else lines_of(message)
    )
    stderr, stdout = lines_of(record.get("stderr")), lines_of(record.get("stdout"))
    printed = record.get("stdout")
    facts = dict(printed) if isinstance(printed, Mapping) else _facts(stdout)
    told = [
        line for name in ("error", "message", "exception", "traceback") for line in lines_of(facts.get(name))
    ]
    spoken = [line for line in stdout if not line.lstrip().startswith("{")]
    return Evidence(
        kind=_word(record.get("kind")),
        sms=sms_of(record.get("sm")),
        versions=_versions(record.get("versions")),
        lines=tuple([*stderr, *spoken, *told, *(line for line in said if line not in stderr)]),
        facts=facts,
        measurements=record.get("measurements"),
        code=_code(record.get("returncode_or_signal")),
        ours=record.get("timed_out_by_harness") is True,
        stage=_word(record.get("stage")),
        exception=exception,
    )


def _word(value: object) -> str:
    return value[:200].strip() if isinstance(value, str) else ""


def _versions(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    pairs = list(value.items())[:2_000]
    return {str(name)[:100].lower(): str(version)[:200] for name, version in pairs if version is not None}


def _code(value: object) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**31 else None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) else None
    word = _word(value).upper()
    if re.fullmatch(r"-?\d{1,6}", word):
        return int(word)
    named = getattr(signal, word, None) if word.startswith("SIG") else None
    return -int(named) if isinstance(named, signal.Signals) else None


def _facts(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in lines[-200:]:
        if line.lstrip().startswith("{"):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            found.update(value if isinstance(value, dict) else {})
    return found


def numbers(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Every number below a JSON value with the path to it, `a.b.0`; booleans are none."""
    if isinstance(value, bool) or depth > DEEPEST:
        return
    if isinstance(value, int | float):
        yield path, float(value) if abs(value) < 1e300 or isinstance(value, float) else math.inf
    elif isinstance(value, Mapping | list | tuple):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for count, (name, inner) in enumerate(pairs):
            if count > MOST_NUMBERS:
                return
            yield from numbers(inner, f"{path}.{name}".lstrip("."), depth + 1)
