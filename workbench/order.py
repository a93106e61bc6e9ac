"""In which order things were made, though a clock may be set back. Pure: what is known is handed in."""

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta


def after(newest: str, now: str) -> str:
    """What sorts after `newest`, where the clock says a `now` before it; else empty."""
    if now >= newest:
        return ""
    known, _, count = newest.partition("+")
    return f"{known}+{int(count or 0) + 1:06d}"


def later(now: datetime, names: Iterable[str], form: str, step: timedelta) -> datetime:
    """`now`, or a step after the last of the times that the names are, where the clock is behind it."""
    last = now
    for name in names:
        with contextlib.suppress(ValueError, OverflowError):  # named otherwise
            last = max(last, datetime.strptime(name, form).replace(tzinfo=UTC) + step)
    return last
