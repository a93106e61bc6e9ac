"""Signs that another kernel ran, or an untuned one: the numbers are real, but not of what was asked for."""

from __future__ import annotations

from .signs import sign

_OTHER = (
    r"dequant|marlin|triton|torch|pytorch|native|eager|bf16|fp16|emulat|cutlass|naive|reference|flash|fa\d|sdpa"
    r"|xformers|cublas|python|cpu\b|(?:[\w-]+ ){1,3}(?:backend|kernels?|implementation)\b"
)

ELSEWHERE = (
    sign(
        "not_exercised",
        rf"fall(?:s|ing)?[ -]?back (?:to|on) (?:the )?(?:slow\w{{0,8}} )?(?:{_OTHER})",
        "default(?:ing)? to dequanti",
        "does not have native support",
        r"using (?:marlin|emulat\w{1,8}|reference|fallback) (?:backend|kernel|implementation)",
        "will be (?:dequantized|emulated)",
        "compression will be used leveraging",
        "is not available.{0,40}using .{0,40}instead",
        "disabl(?:ed|ing) flashinfer",
        note="another kernel ran",
    ),
)

UNTUNED = (
    sign(
        "measurement_invalid",
        "OOM detected.{0,60}fall",
        "(?:out of memory|tuning failed).{0,80}fall(?:ing)? ?back",
        "fall(?:ing)? ?back to (?:the )?default tactic",
        note="timed with the tuner's fallback",
    ),
)
