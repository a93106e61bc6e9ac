"""One check of a candidate against a baseline: read, measure what is missing, run regressions again, judge."""

from workbench.checking.measuring import (
    Asked,
    estimate,
    measure,
    open_pairs,
    sharpen,
    stored,
    verify,
    verify_together,
)
from workbench.checking.reading import Reading, examine

__all__ = [
    "Asked", "Reading", "estimate", "examine", "measure", "open_pairs", "sharpen", "stored", "verify",
    "verify_together",
]  # fmt: skip
