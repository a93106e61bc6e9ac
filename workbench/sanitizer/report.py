"""The report as a whole: its blocks, how many errors it counted, and whether the tool saw everything.

A report is blocks of lines behind `=========`. The first line of a block says what, the others where.
"""

import re

from workbench.untrusted import MESSAGE, plain

MOST_TEXT, LONGEST_BLOCK, LONGEST_LINE = 4_000_000, 16_000, 4_000  # characters
MOST_BLOCKS = 5_000

_MARK = re.compile(r"^={8,}(?: |$)")
_MORE = re.compile(
    r"^\s*(?:at |by thread|Address |Access |Uninitialized access|and |in |of size|Saved host|Host Frame|Device Frame|"
    r"Current Value|Current Focus|\s{3,})"
)
_ERRORS = re.compile(r"(?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards?)")
_BLIND = re.compile(
    r"(?:Internal Sanitizer Error|No attachable process found|compute-sanitizer timed-out|didn't track the launch"
    r"|Error: .{0,60}(?:not supported|unsupported|failed to|unable to)).{0,200}", re.IGNORECASE,
)  # fmt: skip


def errors(text: str) -> int | None:
    """How many the tool counted, printed or not; None where it came to no summary, and so watched not to the end."""
    counts = [int(number) for pair in _ERRORS.findall(text[-MOST_TEXT:]) for number in pair if number]
    return max(counts) if counts else None


def blind(text: str) -> str:
    """Why the tool did not see all; empty where nothing says so."""
    lines = (line for line in text[:MOST_TEXT].splitlines() if _MARK.match(line))
    return next((plain(found.group(), MESSAGE) for line in lines if (found := _BLIND.search(line))), "")


def blocks(text: str) -> list[str]:
    """Each report in one line; what the program itself printed in between is left out."""
    found: list[list[str]] = []
    for line in text[:MOST_TEXT].splitlines():
        if not _MARK.match(line):
            continue
        said = _MARK.sub("", line)[:LONGEST_LINE]
        if found and said.strip() and _MORE.match(said):
            found[-1].append(said.strip())
        elif len(found) < MOST_BLOCKS:
            found.append([said.strip()])
    return [" ".join(lines)[:LONGEST_BLOCK] for lines in found]
