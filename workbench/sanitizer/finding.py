"""From one block of a report to a finding: what kind of access, by which kernel, how far from which allocation.

The wording has changed between releases, and numbers have the separators of the machine's language; both are met.
"""

import re
from typing import Any

from workbench.untrusted import NAME, plain

from .report import blocks

MOST_FINDINGS, KERNEL_CHARACTERS = 20, 300
LONGEST_NAME = 5_000  # characters that are looked through for one

Finding = dict[str, Any]

_NUMBER = r"(\d[\d.,\u00a0\u202f']*)"
_ACCESS = re.compile(r"Invalid (__\w+__) (read|write|atomic)\w*(?: of size (\d+))?", re.IGNORECASE)
_UNWRITTEN = re.compile(r"Uninitialized (__\w+__) memory (read|write)(?: of size (\d+))?", re.IGNORECASE)
_COPIED = re.compile(
    r"Host API memory access error at host access to (0x[0-9a-f]+)(?: of size (\d+))?", re.IGNORECASE
)
_RACE = re.compile(r"(?:Race reported between|Potential (?:RAW|WAR|WAW) hazard)", re.IGNORECASE)
_RACING = re.compile(r"(Read|Write) access at (.+?)(?= and (?:Read|Write) access| \[|$)", re.IGNORECASE)
_HAZARDS = re.compile(r"\[(\d+) hazards?\]")
_HARDWARE = re.compile(
    r"^(?:Error: |Fatal: )?((?:Warp|Lane|Device|Cluster)(?: [a-z-]+){0,3}? "
    r"(?:address space|address|instruction|pc|stack overflow|overflow|assert|exception)\b)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:Address|Access (?:at|to)|access at) (0x[0-9a-f]+)", re.IGNORECASE)
_NEAREST = re.compile(
    rf"and is {_NUMBER} bytes? (after|before) the nearest allocation at (0x[0-9a-f]+)(?: of size {_NUMBER} bytes?)?",
    re.IGNORECASE,
)
_CODE = r"0x[0-9a-f]+"


def findings(text: str) -> list[Finding]:
    """What was found, alike ones as one with their `count`; the least distance of each is kept.

    kind: out_of_bounds, misaligned, uninitialized, race, hardware (the GPU's own exception, not placed exactly).
    """
    grouped: dict[tuple[Any, ...], Finding] = {}
    for block in blocks(text):
        found = _finding(block)
        if found is None:
            continue
        names = ("kind", "access", "bytes", "kernel", "source", "side", "of_bytes", "_base")
        first = grouped.setdefault(tuple(found[name] for name in names), found)
        if first is not found:
            first["count"] += found["count"]
            if first["distance_bytes"] is not None and found["distance_bytes"] is not None:
                first["distance_bytes"] = min(first["distance_bytes"], found["distance_bytes"])
    return list(grouped.values())[:MOST_FINDINGS]


def _finding(block: str) -> Finding | None:
    head = block[:200]
    address = _ADDRESS.search(block)
    kernel, source = _kernel(block)
    found: Finding = {
        "kind": "", "access": "", "bytes": None, "kernel": kernel, "source": source, "distance_bytes": None,
        "side": "", "of_bytes": None, "tensor": "", "count": 1, "_base": None,
        "_address": int(address.group(1), 16) if address else None,
    }  # fmt: skip
    if match := _ACCESS.match(head):
        kind = "misaligned" if "misaligned" in block else "out_of_bounds"
        return {**found, **_accessed(match, kind), **_nearest(block)}
    if match := _UNWRITTEN.match(head):
        return {**found, **_accessed(match, "uninitialized")}
    if match := _COPIED.match(head):
        size = int(match.group(2)) if match.group(2) else None
        return {
            **found,
            "kind": "uninitialized",
            "access": "read",
            "bytes": size,
            "kernel": "a copy by the host",
        }
    if _RACE.search(head):
        return {**found, **_race(block)}
    if match := _HARDWARE.match(head):
        return {**found, "kind": "hardware", "access": plain(match.group(1).lower()), **_nearest(block)}
    return None


def _accessed(match: re.Match[str], kind: str) -> Finding:
    return {
        "kind": kind,
        "access": match.group(2).lower(),
        "bytes": int(match.group(3)) if match.group(3) else None,
    }


def _nearest(block: str) -> Finding:
    match = _NEAREST.search(block)
    if not match:
        return {}
    distance, side, base, size = match.groups()
    return {
        "distance_bytes": _whole(distance),
        "side": side.lower(),
        "of_bytes": _whole(size) if size else None,
        "_base": int(base, 16),
    }


def _whole(text: str) -> int:
    return int(re.sub(r"\D", "", text)[:18])


def _race(block: str) -> Finding:
    sides = _RACING.findall(block)
    kernel, source = _named(sides[0][1]) if sides else ("", "")
    access = " and ".join(dict.fromkeys(way.lower() for way, _ in sides))
    hazards = [int(number[:9]) for number in _HAZARDS.findall(block)]
    return {"kind": "race", "access": access, "kernel": kernel, "source": source, "count": sum(hazards) or 1}


def _kernel(block: str) -> tuple[str, str]:
    """The kernel and the place in its source: the outermost device frame is the kernel, the innermost is where."""
    at = re.search(
        r" at (.+?)(?= by thread| Address | Access | and is | Device Frame| Saved host| Host Frame|$)", block
    )
    name, source = _named(at.group(1)) if at else ("", "")
    frames = re.findall(r"Device Frame: ?(.+?)(?= Device Frame:| Saved host| Host Frame|$)", block)
    outermost, _ = _named(frames[-1]) if frames else (name, "")
    return outermost or name, source


def _named(text: str) -> tuple[str, str]:
    """`k(int *)+0xb0 in a.cu:3`, `0xb0 in /x/a.cu:3:k(int *)`, `0xb0 in k`, `k():0x160 in a.cu:6`: (k..., a.cu:3)."""
    text = re.sub(rf"^{_CODE} in ", "", text.strip()[:LONGEST_NAME])
    source = ""
    if inside := re.match(r"(?:\S*/)?([^/\s:]+:\d+):(.+)$", text):
        source, text = inside.group(1), inside.group(2)
    elif after := re.search(r" in (?:\S*/)?([^/\s:]+:\d+)\s*$", text):
        source, text = after.group(1), text[: after.start()]
    text = re.sub(rf"(?:[+:]{_CODE}| \[{_CODE}\]| \(.* : {_CODE}\))\s*$", "", text)
    return plain(text, KERNEL_CHARACTERS), plain(source, NAME)
