"""What was printed, as clean lines: capped, without control characters, without lines that mean nothing.

Standard library only; takes any object and never raises.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby, islice

WHOLE, HEAD, TAIL, LONGEST = 4_000_000, 60_000, 120_000, 2_400
"""Characters read of one text; of one that is longer, of its two ends; and of one line."""
ALIKE = 30
"""Lines kept of each end of a series that differs in its digits only."""
FIRST, LAST, PICKED, SEEN = 500, 1_200, 200, 20_000
"""Lines kept of the two ends, and of the middle where they speak of an error; lines looked at for that."""

_CONTROL = re.compile(
    r"(?:\x1b|\^\[|\bESC(?=\[))?\[[0-9;?]{0,16}m|\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]"
)
"""Colours, also as they look when a terminal's text was pasted, and other control characters."""
_DIGITS = str.maketrans("", "", "0123456789")
_SPEAKING = re.compile(r"rror|xception|ERROR|illed|atal|failed|illegal")

_NOISE = re.compile(
    r"pynvml package is deprecated|^\s*import pynvml|\[Gloo\] Rank \d+ is connected"
    r"|resource_tracker|destroy_process_group\(\) was not called|might be asynchronously reported"
    r"|(?:^|\s)(?:For debugging consider|Compile with `?TORCH_USE_CUDA_DSA)"
    r"|PLEASE submit a bug report|OMP_NUM_THREADS|TOKENIZERS_PARALLELISM"
)
_ADVICE = re.compile(r"^\s*possible solutions?\s*:", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*\d+[.)]\s")
_CONDITIONAL = re.compile(
    r"\b[Ii]f [^.;]{1,160}?,? (?:consider|try|please|set|use|check|reduce|increase|re-?run)\b[^.;]{0,160}"
)
"""Advice for something that may happen is no report that it did."""
_DENIED = re.compile(
    r"\b(?:no|not an?|without(?: an?| any)?) (?:CUDA )?"
    r"(?:illegal (?:memory access|instruction)|misaligned address|out of memory)(?:e?s)?\b"
    r"|\b0 (?:CUDA )?(?:illegal (?:memory accesses|instructions)|misaligned addresses)\b",  # not: rank 0 out of memory
    re.IGNORECASE,
)
"""Nor is a fault that is denied."""
_IGNORED = re.compile(r"Exception ignored (?:in|on)\b")
_FRAME = re.compile(r"^\s*File \".{1,400}\", line \d+")
_COMMENT = re.compile(r"\s+#\s.*$")
_TRACE = re.compile(r"^\s*(?:Traceback|File \"|~|\^)|^\s{2,}\S")
_QUIET = re.compile(r"\b(?:DEBUG|INFO|WARN|WARNING)\b|Warning:|^[IW]\d{4} |\[W\]|^\[Autotuner\]")
_LOUD = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b")
_SKIP = re.compile(r"skip(?:ping|ped)?\b.{0,80}\btactic|tactic.{0,80}\bskipp", re.IGNORECASE)
_SPEAKER = re.compile(r"\s*(?:\[rank\d+\]:?|\[(?:TP|DP|PP|EP)\d+\]|\([\w .=-]{0,60}\bpid=\d+[^)]{0,60}\)) ?")
_CLOCK = re.compile(r"\b(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?\b")


def lines_of(raw: object) -> list[str]:
    """The lines that may say something, in the order printed."""
    if isinstance(raw, list | tuple):
        raw = "\n".join(item for item in raw[:10_000] if isinstance(item, str))
    if isinstance(raw, bytes | bytearray):
        raw = raw[:HEAD].decode("utf-8", "replace") + raw[HEAD:][-TAIL:].decode("utf-8", "replace")
    if not isinstance(raw, str):
        return []
    lines = [line for line, _ in groupby(_capped(raw).splitlines()) if line.strip()]
    return _without_noise([_clean(line) for line in _ends_and_errors(_without_series(lines))])


def _without_series(lines: list[str]) -> list[str]:
    """The lines without the middle of what is printed again and again with other numbers."""
    shapes = [line[:200].translate(_DIGITS) for line in lines]
    total, seen = Counter(shapes), Counter[str]()
    kept = []
    for line, shape in zip(lines, shapes, strict=True):
        seen[shape] += 1
        if seen[shape] <= ALIKE or seen[shape] > total[shape] - ALIKE:
            kept.append(line)
    return kept


def _ends_and_errors(lines: list[str]) -> list[str]:
    middle = lines[FIRST:-LAST]
    return [*lines[:FIRST], *_telling(middle), *lines[-LAST:]] if middle else lines


def _telling(lines: Iterable[str]) -> list[str]:
    """The first lines that speak of an error, after a few that only note one."""
    speaking = [line for line in islice(lines, SEEN) if _SPEAKING.search(line)]
    quiet = set(islice(filter(is_quiet, speaking), PICKED // 4))
    return list(islice((line for line in speaking if line in quiet or not is_quiet(line)), PICKED))


def _capped(raw: str) -> str:
    if len(raw) <= WHOLE:
        return raw
    return "\n".join([raw[:HEAD], *_telling(_speaking(raw, HEAD, len(raw) - TAIL)), raw[-TAIL:]])


def _speaking(raw: str, start: int, end: int) -> Iterable[str]:
    """Lines between two places that speak of an error, without a split of the whole."""
    while found := _SPEAKING.search(raw, start, end):
        left = max(raw.rfind("\n", max(start, found.start() - LONGEST), found.start()) + 1, start)
        right = raw.find("\n", found.end(), found.end() + LONGEST)
        start = right if right >= 0 else found.end() + LONGEST
        yield raw[max(left, found.start() - LONGEST) : start]


def _clean(line: str) -> str:
    said = _CONTROL.sub("", shortened(line, LONGEST))
    return _DENIED.sub("", _CONDITIONAL.sub("", said)).rstrip()


def shortened(line: str, most: int) -> str:
    """Both ends of a line: what was expected often stands at its end."""
    return line if len(line) <= most else f"{line[: most // 2]} ... {line[-(most // 2) :]}"


def _without_noise(lines: list[str]) -> list[str]:
    kept: list[str] = []
    skipping: re.Pattern[str] | None = None
    in_tail = in_frame = False
    for line in lines:
        said = bare(line)
        if in_frame and said[:1] == " ":
            line = _COMMENT.sub("", line)  # of the source, which a frame quotes
        in_frame = bool(_FRAME.search(said))
        if in_tail or (skipping and skipping.search(said)):
            in_tail = in_tail and bool(_TRACE.search(said))
            continue
        skipping = _NUMBERED if _ADVICE.search(said) else None
        in_tail = bool(_IGNORED.search(said))
        if line and not (in_tail or skipping or _NOISE.search(line)):
            kept.append(line)
    return kept


def speaker(line: str) -> str:
    """The rank or process that a launcher put before the line; "" if none is named."""
    found = _SPEAKER.match(line)
    return found.group().strip(" :") if found else ""


def bare(line: str) -> str:
    """The line as its process printed it."""
    return _SPEAKER.sub("", line, count=1)


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
