"""Comparisons and argument checks that failed: in the library, the caller or a test."""

from __future__ import annotations

from .signs import sign

_ERROR = r"(?-i:\b(?:Value|Runtime|Assertion|Type)Error)"
_ASSERTED = r"(?:\bassert\w*|check failed)\b"
_SIZE = r"\b\w*(?:head|hidden|page|group|tile|block|expert|top_?k|dim)\w*"
_PROPERTY = r"(?:contiguous|dtype|device|shape|strides?|ndim|\bdim\(|numel|aligned)\b"
_STATUS = r".{0,200}(?:success|status|result|\berr\w*\b|cuda|nvrtc|\bnan\b|false\b|nullptr|\bnull\b)"
"""An assertion about what another call returned says nothing of the arguments."""
_COMPARED = r".{0,200}(?:[=!<>]=|\s[<>]\s|has_value\(|\bis_\w+\()"

NUMBERS = (
    sign(
        "wrong_numbers",
        "Tensor-likes are not close",
        "Mismatched elements?:",
        "Arrays are not (?:almost )?equal",
        "Not equal to tolerance",
        "Greatest (?:absolute|relative) difference",
        "probability tensor contains either",
        "results? (?:do not|don't|mismatch).{0,20}match",
        r"(?:output|result|accuracy|numeric\w*) mismatch",
        "cosine similarity .{0,30}(?:too low|below|<)",
    ),
)

ARGUMENTS = (
    sign(
        "no_kernel_for_config",
        "(?:must|should|has to|needs to) be (?:a multiple of|divisible by)",
        "not (?:a multiple of|divisible by)",
        rf"{_ASSERTED}.{{0,20}}{_SIZE} ?(?:==|in|<=?|%) ?[\[({{]?\d",
    ),
    sign(
        "bad_argument",
        rf"{_ERROR}: .{{0,200}}(?:must|should) (?:be|have|match|equal)",
        rf"{_ERROR}: .{{0,200}}expected .{{0,80}}(?:got|but|found)",
        rf"{_ERROR}: .{{0,200}}(?:shape|size|dtype|device|stride)s? .{{0,40}}(?:mismatch|not match)",
        rf"{_ERROR}: .{{0,200}}(?:not contiguous|same device|at least two devices)",
        rf"{_ASSERTED}.{{0,80}}(?:{_PROPERTY}|\b(?:is|has|check)_\w{{0,40}}{_PROPERTY})",
        rf"(?:assertion (?:error|failed)|check failed)\b(?!{_STATUS}){_COMPARED}",
        rf"\bAssertion [`'\"](?!{_STATUS}){_COMPARED}.{{0,80}}' failed",
    ),
)
"""Weakest of the causes: tried only where nothing better is found."""
