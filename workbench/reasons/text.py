"""What was printed, as clean lines: capped, without control characters, without lines that mean nothing.

Standard library only; takes any object and never raises.
"""

from __future__ import annotations

import re
from itertools import groupby

HEAD, TAIL, LONGEST, PICKED = 60_000, 120_000, 2_400, 200
"""Characters kept of the two ends and of one line; lines kept of the middle, where they speak of an error."""
FIRST, LAST = 500, 1_200
"""Lines kept of the two ends."""

_CONTROL = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_SPEAKING = re.compile(r"rror|xception|ERROR|illed|atal|failed|illegal")

_NOISE = re.compile(
    r"pynvml package is deprecated|^\s*import pynvml|\[Gloo\] Rank \d+ is connected"
    r"|resource_tracker|destroy_process_group\(\) was not called|might be asynchronously reported"
    r"|^\s*(?:For debugging consider|Compile with `?TORCH_USE_CUDA_DSA|Search for `cuda)"
    r"|PLEASE submit a bug report|OMP_NUM_THREADS|TOKENIZERS_PARALLELISM"
)
_ADVICE = re.compile(r"^\s*possible solutions?\s*:", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\d+[.)]\s")
_IGNORED = re.compile(r"Exception ignored (?:in|on)\b")
_TRACE = re.compile(r"^\s*(?:Traceback|File \"|~|\^)|^\s{2,}\S")
_QUIET = re.compile(r"\b(?:DEBUG|INFO|WARN|WARNING)\b|Warning:|^[IW]\d{4} |\[W\]|^\[Autotuner\]")
_LOUD = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b")
_SKIP = re.compile(r"skip(?:ping|ped)?\b.{0,80}\btactic|tactic.{0,80}\bskipp", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,6}))?\b")


def lines_of(raw: object) -> list[str]:
    """The lines that may say something, in the order printed."""
    if isinstance(raw, list | tuple):
        raw = "\n".join(item for item in raw[:10_000] if isinstance(item, str))
    if isinstance(raw, bytes | bytearray):
        raw = raw[:HEAD].decode("utf-8", "replace") + raw[HEAD:][-TAIL:].decode("utf-8", "replace")
    if not isinstance(raw, str):
        return []
    lines = [line for line, _ in groupby(_capped(raw).splitlines()) if line.strip()]
    if len(lines) > FIRST + LAST:
        lines = lines[:FIRST] + lines[-LAST:]
    return _without_noise([_clean(line) for line in lines])


def _capped(raw: str) -> str:
    if len(raw) <= HEAD + TAIL:
        return raw
    return "\n".join([raw[:HEAD], *_speaking(raw, HEAD, len(raw) - TAIL), raw[-TAIL:]])


def _speaking(raw: str, start: int, end: int) -> list[str]:
    """The first lines between two places that speak of an error, without a split of the whole."""
    picked: list[str] = []
    while len(picked) < PICKED and (found := _SPEAKING.search(raw, start, end)):
        left = max(raw.rfind("\n", max(start, found.start() - LONGEST), found.start()) + 1, start)
        right = raw.find("\n", found.end(), found.end() + LONGEST)
        start = right if right >= 0 else found.end() + LONGEST
        picked.append(raw[max(left, found.start() - LONGEST) : start])
    return picked


def _clean(line: str) -> str:
    return _CONTROL.sub("", shortened(line, LONGEST)).rstrip()


def shortened(line: str, most: int) -> str:
    """Both ends of a line: what was expected often stands at its end."""
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-(most // 2) :]}"


def _without_noise(lines: list[str]) -> list[str]:
    kept: list[str] = []
    skipping: re.Pattern[str] | None = None
    in_tail = False
    for line in lines:
        if in_tail or (skipping and skipping.search(line)):
            in_tail = in_tail and bool(_TRACE.search(line))
            continue
        skipping = _NUMBERED if _ADVICE.search(line) else None
        in_tail = bool(_IGNORED.search(line))
        if line and not (in_tail or skipping or _NOISE.search(line)):
            kept.append(line)
    return kept


def is_quiet(line: str) -> bool:
    """Whether the line is a note of the library, or a tactic that a tuner left out: not yet a failure."""
    return bool(_SKIP.search(line)) or bool(_QUIET.search(line) and not _LOUD.search(line))


def clock_of(line: str) -> float | None:
    """Seconds of the day printed in the line."""
    found = _CLOCK.search(line)
    if not found:
        return None
    hours, minutes, seconds, fraction = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction or 0}")


def one_line(line: str, most: int = 240) -> str:
    return shortened(" ".join(line.split()), most)
