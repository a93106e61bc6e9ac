"""A finding in words."""

from .finding import Finding


def says(finding: Finding) -> str:
    """Such as "_kernel: 4 bytes read, 1 byte after `exponents` (1105920 bytes)"."""
    kernel, kind = finding["kernel"] or "an unnamed kernel", finding["kind"]
    source = f" ({finding['source']})" if finding["source"] else ""
    if kind == "race":
        return f"{kernel}{source}: said to race for shared memory (racecheck does not know every barrier)"
    if kind == "hardware":
        return f"{kernel}{source}: {finding['access']}"
    what = f"{_bytes(finding['bytes'])} {finding['access']}" if finding["bytes"] else str(finding["access"])
    how = {"misaligned": " at an address that is not aligned", "uninitialized": ", never written"}.get(
        kind, ""
    )
    return f"{kernel}{source}: {what}{how}{_where(finding)}"


def _where(finding: Finding) -> str:
    side, distance = finding["side"], finding["distance_bytes"]
    if not side:
        return ""
    of = f"`{finding['tensor']}`" if finding["tensor"] else "a block that is no tensor of the call"
    size = f" ({_bytes(finding['of_bytes'])})" if finding["of_bytes"] else ""
    return f", {_bytes(distance)} {'into' if side == 'inside' else side} {of}{size}"


def _bytes(count: int | None) -> str:
    return f"{count} byte{'s' * (count != 1)}"
