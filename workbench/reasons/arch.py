"""Which binary runs on which GPU, and which driver knows it. Numbers from NVIDIA's release notes."""

from __future__ import annotations

import re

_SM = re.compile(r"(?:sm_?|compute_?|\b)(\d{1,2})\.?(\d)[af]?\b", re.IGNORECASE)

FAMILY = {100: {100, 103}, 103: {103}, 110: {110}, 120: {120, 121}, 121: {121}}
"""What an `f` (family) binary built for the key runs on."""

TRTLLM_GEN = {100, 103, 107, 110}
"""Kernels shipped as trtllm-gen cubins exist for these only."""

OLDEST = 75
"""Nothing of FlashInfer is built for an older GPU."""

BUILT_FOR = (
    (re.compile(r"trtllm_\w{0,40}moe|TllmGen|trtllm_ragged|trtllm_gen", re.IGNORECASE), TRTLLM_GEN),
    (re.compile(r"\bb12x_", re.IGNORECASE), {120, 121}),
    (
        re.compile(r"mm_fp4|cute_?dsl_\w{0,40}nvfp4|grouped_gemm_nt_masked", re.IGNORECASE),
        {100, 103, 107, 110, 120, 121},
    ),
)
"""Functions that exist for these GPUs only, by the name in a frame."""

DRIVER_FOR_CUDA = {11: 450, 12: 525, 13: 580}
"""The oldest driver branch for a CUDA major version (its minor versions are compatible)."""


def sms_of(value: object) -> frozenset[int]:
    """Compute capabilities (9.0 is 90) from "86|89", "sm_90a", 90 or 9.0; empty if unknown."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return frozenset()
    return frozenset(int(major + minor) for major, minor in _SM.findall(str(value)[:100]))


def runs_on(built_for: int, suffix: str, device: int) -> bool:
    """Whether a binary for `sm_<built_for><suffix>` can be loaded by the device."""
    if suffix == "a":
        return built_for == device
    if suffix == "f":
        return device in FAMILY.get(built_for, {built_for})
    return built_for // 10 == device // 10 and built_for <= device


def none_runs(named: list[tuple[str, str]], devices: frozenset[int]) -> bool:
    """Whether no named (number, suffix) fits any of the devices; false where either is unknown."""
    pairs = [(int(number), suffix.lower()) for number, suffix in named]
    return bool(pairs and devices) and not any(
        runs_on(number, suffix or "f", device) for number, suffix in pairs for device in devices
    )


def never_built(text: str, devices: frozenset[int]) -> bool:
    """Whether the function named in the text exists for none of the devices."""
    if not devices:
        return False
    sets = [supported for name, supported in BUILT_FOR if name.search(text)]
    return all(device < OLDEST for device in devices) or any(not devices & supported for supported in sets)


def release(text: str) -> tuple[int, ...]:
    """The first version number in a text, (0, 6, 11); empty if there is none."""
    found = re.search(r"\d+(?:\.\d+){0,3}", text[:200])
    return tuple(int(part) for part in found.group().split(".")) if found else ()
