"""What the stage alone says of an exception that no text explains."""

from __future__ import annotations

from .evidence import Evidence
from .signs import Hit

BY_STAGE = {"import": "import_error", "build": "jit_compile_failure", "capture": "graph_capture_failure"}
"""Stages that do one thing only. `capture` comes after a call that worked."""


def by_stage(evidence: Evidence) -> Hit | None:
    last = evidence.lines[-1] if evidence.lines else evidence.exception
    if evidence.exception in ("AttributeError", "ImportError") and evidence.stage == "find":
        return Hit("api_changed", last)
    reason = BY_STAGE.get(evidence.stage) if evidence.exception else None
    return Hit(reason, last, f"in stage {evidence.stage}") if reason else None
