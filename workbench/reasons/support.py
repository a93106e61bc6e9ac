"""What the library says it cannot do: on this GPU at all, or only for this shape, type or activation."""

from __future__ import annotations

import re

from .arch import none_runs, release
from .evidence import Evidence
from .signs import sign

_GPU = (
    r"(?:\bsm[ _<>=-]{0,4}\d|compute capability|\barch|\bthis (?:gpu|device)|your gpu|gpus?\b"
    r"|hopper|blackwell|ampere)"
)
_PART = (
    r"(?:head|data ?type|dtype|shape|hidden|page|activation|layout|group|tile|block|quant|combination|routing"
    r"|input|num|mask|kv|q\b|top|window|soft_?cap|sink)"
)
_ARCH_WORD = re.compile(
    r"\b(?:sm|compute|capability|arch\w*|gpus?|device|hopper|blackwell|ampere|ada)[ _-]?\d*\b", re.IGNORECASE
)


def _backend(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """A "backend" that is a number is the GPU's own."""
    number = int(found.group(1))
    plausible = 50 <= number <= 199
    return "unsupported_arch" if number in evidence.sms or (plausible and not evidence.sms) else None


def _cubin(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """A cubin for a family that the device is not of: no download will bring one."""
    return "unsupported_arch" if none_runs([(found.group(1), found.group(2))], evidence.sms) else None


def _options(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """Options that nobody would ask for are arguments that moved."""
    line = found.string[found.start() :]
    tile = re.search(r"tile\w*:\s*(\d+)", line, re.IGNORECASE)
    broken = bool(tile and int(tile.group(1)) < 8) or bool(re.search(r"%[sdiu]\b", line))
    return "api_changed" if broken else "no_kernel_for_config"


def _construct(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """A template set that an old nvcc left out is the toolkit's age, not the shape's."""
    toolkit = release(evidence.versions.get("nvcc", "") or evidence.versions.get("cuda", ""))
    local = re.search(r"\+cu(\d{2})(\d)", evidence.versions.get("torch", ""))
    torch_cuda = (int(local.group(1)), int(local.group(2))) if local else (12, 8)
    return "version_skew" if toolkit and toolkit[:2] < torch_cuda else "no_kernel_for_config"


def _refused(evidence: Evidence, found: re.Match[str], where: int) -> str:
    return "unsupported_arch" if _ARCH_WORD.search(found.string) else "no_kernel_for_config"


SUPPORT = (
    sign(
        _backend,
        r"invalid backend:? ?['\"]?(?:sm_?)?(\d{2,3})\b",
    ),
    sign(
        _cubin,
        r"(?:load(?:ing)?|find|found|fetch(?:ing)?) .{0,40}cubin.{0,300}sm(\d{2,3})([af])(?!\w)\S{0,40}cubin",
    ),
    sign(
        "unsupported_arch",
        r"unsupported (?:gpu )?(?:arch\w*|compute capability|device|sm)\b",
        rf"(?:not supported|unsupported|not available|not implemented) (?:on|for|with) .{{0,40}}{_GPU}",
        r"does(?: not|n't) support .{0,80}(?:capability|\bsm_?\d|this (?:gpu|device|arch)|architecture)",
        rf"only (?:supported|available|works?|runs?|implemented) .{{0,40}}{_GPU}",
        rf"(?:supports? only|only supports?) .{{0,40}}{_GPU}",
        rf"only {_GPU}.{{0,60}}supported",
        r"expected .{0,80}\bis_?sm_?\d.{0,80}to be true",
        r"requires? (?:an? )?(?:\w+ )?(?:\bsm[ _]?\d|compute capability|hopper|blackwell|ampere|device with)",
        r"requires? .{0,30}\b(?:sm_?\d{2,3}|capability)",
        "no supported .{0,30}for (?:this )?(?:sm|device|arch)",
        r"no supported (?:cuda )?arch\w* (?:found )?for",
        "the only supported sm versions",
        r"\bsm_?\d{2,3} (?:\w+ )?gemm only supports",
        r"\bsm_?\d{2,3}[af]? (?:is |are )?(?:not supported|unsupported)",
        r"capability \d+(?:\.\d+)? (?:is )?(?:not supported|unsupported)",
        "expect(?:s|ed)? (?:arch|compute capability).{0,120}but got",
        rf"\b(?:none|no)\b .{{0,60}}\b(?:usable|available|supported|works?) (?:on|for) .{{0,20}}{_GPU}",
        "arch(?:itecture)? mismatch",
        "no cubins? (?:is |are )?(?:available |found )?for (?:this |the )?(?:device|gpu|arch|sm)",
    ),
    sign(
        _options,
        "No kernel (?:was )?found for",
    ),
    sign(
        _construct,
        "could not construct .{0,60}op with the requested",
    ),
    sign(
        "no_kernel_for_config",
        "invalid activation(?: type)?",
        r"invalid config(?:uration)?\b(?! argument)",
        "no (?:execution |engine )?(?:plans?|configs?|engines?) supports? the graph",
        "cudnnGraphNotSupported",
        r"no valid (?:tactic|config\w*|kernel|algorithm|engine)",
        r"no (?:suitable|matching|available) (?:kernel|tactic|config\w*|algorithm|instance|implementation)",
        rf"unsupported {_PART}",
        rf"not (?:yet )?(?:supported|implemented) (?:for|with) .{{0,60}}(?:{_PART}|bf?loat|fp\d|dim)",
        r"(?:head|hidden|num_\w+|page|intermediate|top_?k|dtype).{0,60}(?:not supported|unsupported)",
        r"(?:failed to|cannot|could not) (?:find|select|get) (?:an? |any )?(?:\w+ )?(?:kernel|tactic|algo)",
        rf"(?:failed to|cannot|could not) dispatch .{{0,20}}{_PART}",
        rf"{_PART}\w* (?:setting |type |value )?(?:is |are )?not supported",
        "not valid for this configuration",
    ),
    sign(
        _refused,
        r"(?:NotImplementedError|BackendSupportedError|NotSupportedError)\b",
    ),
)
