"""Packages that do not belong together: what makes any answer of a kernel among them worthless."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import Hit, sign
from .text import one_line

_BYPASS = re.compile(r"FLASHINFER_DISABLE_VERSION_CHECK\s*[=:]\s*['\"]?(?:1|true|yes|on)\b", re.IGNORECASE)
_VERSION = re.compile(r"\b\d+\.\d+\.\d+(?:\.?(?:post|dev|rc|a|b)\d+)?(?:\+[\w.]+)?")
_PARTS = ("flashinfer-cubin", "flashinfer-jit-cache")


def mixed(evidence: Evidence) -> Hit | None:
    """FlashInfer beside parts of other releases, its own check switched off."""
    main = _public(evidence.versions.get("flashinfer-python") or evidence.versions.get("flashinfer", ""))
    parts = {name: _public(evidence.versions.get(name, "")) for name in _PARTS}
    apart = [f"{name} {version}" for name, version in parts.items() if main and version and version != main]
    switched_off = _BYPASS.search(evidence.text) or any(
        _BYPASS.search(f"{name}={value} {value}".upper()) for name, value in evidence.versions.items()
    )
    if apart and (switched_off or evidence.code != 0):
        return Hit("version_skew", f"flashinfer {main} beside {', '.join(apart)}", "mixed releases")
    return None


def _public(version: str) -> str:
    """The version without its local label (+cu130), which may differ; "" if it is no plain version."""
    found = re.fullmatch(r"v?(\d+(?:\.\d+)+(?:\.?(?:post|dev|rc|a|b)\d+)?)(?:\+[\w.]+)?", version.strip())
    return found.group(1) if found else ""


def _versions_differ(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """A version nobody released is a source folder that hides the package; a local label is no difference."""
    named = {_public(word) for word in _VERSION.findall(found.string)}
    if len(named) == 1 and "" not in named:
        return None
    unbuilt = re.search(r"\(?\b0\.0\.0\b|\+unknown|\(unknown\)|\(none\)", found.string, re.IGNORECASE)
    return "env_problem" if unbuilt else "version_skew"


def _declared(evidence: Evidence, found: re.Match[str], where: int) -> str | None:
    """An installer's note of a clash: the finding of a check, and no cause of what a kernel did later."""
    return "version_skew" if evidence.kind == "env" else None


PACKAGES = (
    sign(
        _versions_differ,
        r"version \(?\S{1,40} does not match .{0,40}version",
        "versions? (?:mismatch|do not match)",
        r"version \(\S{1,40}\) does not match environment",
    ),
    sign(
        "version_skew",
        "cannot find a build variant",
        "no compatible .{0,30}(?:wheel|build|variant)",
        "is incompatible with .{0,40}version",
        r"(?:Error|Conflict)\b.{0,120}(?:requires|needs) \w[\w-]{1,40} ?(?:>=|==|<|~=)",
        "unsupported (?:torch|triton|python) version",
    ),
    sign(
        _declared,
        r"requires \S.{0,120}, but you(?:'ll)? have .{1,120} which is incompatible",
    ),
)


def unready(evidence: Evidence) -> Hit | None:
    """The environment could not be made."""
    if evidence.stage != "install":
        return None
    last = evidence.lines[-1] if evidence.lines else ""
    return Hit("not_built", one_line(last), "the environment could not be made")
