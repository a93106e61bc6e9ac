"""Comparisons and argument checks that failed: in the library, the caller or a test."""

from __future__ import annotations

from .signs import sign

_STATUS = r".{0,200}(?:success|status|result|\berr\w*\b|cuda|nvrtc|\bnan\b|false\b)"
"""An assertion about what another call returned says nothing of the arguments."""
_ERROR = r"(?-i:\b(?:Value|Runtime|Assertion|Type)Error)"

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
    ),
    sign(
        "bad_argument",
        rf"{_ERROR}: .{{0,200}}(?:must|should) (?:be|have|match|equal)",
        rf"{_ERROR}: .{{0,200}}expected .{{0,80}}(?:got|but|found)",
        rf"{_ERROR}: .{{0,200}}(?:shape|size|dtype|device|stride)s? .{{0,40}}(?:mismatch|not match)",
        rf"{_ERROR}: .{{0,200}}(?:not contiguous|same device|at least two devices)",
        r"(?:assert\w*|check failed)\b.{0,80}(?:contiguous|dtype|device|shape|strides?|ndim|\bdim\(|numel|aligned)\b",
        rf"(?:assertion (?:error|failed)|check failed)\b(?!{_STATUS}).{{0,200}}(?:[=!<>]=|\s[<>]\s|has_value\(|\bis_\w+\()",
        rf"\bAssertion [`'\"](?!{_STATUS}).{{0,80}}(?:[=!<>]=|\s[<>]\s).{{0,80}}' failed",
        r"\bassert\b.{0,40}\b(?:is|has|check)_\w{0,40}(?:contiguous|dtype|device|shape|stride|aligned)",
    ),
)
"""Weakest of the causes: tried only where nothing better is found."""
