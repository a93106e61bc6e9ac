"""How a sanitized attempt ended, from how it would have been judged without the tool, and what the tool found.

An access outside of its allocation, or not aligned, is what the hardware calls a fault wherever the memory beside
happens not to be mapped: it is judged as that fault. A value that nobody wrote, or that two threads raced for, is
`undefined_value`: the answer may be right, and hangs on chance. The tool itself ends a faulty context, so its
findings outrank the errors that the program met afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.judge import Judgement
from workbench.results import OUTCOME_OF_REASON, Outcome

from .finding import Finding
from .words import says

REASONS = {
    "out_of_bounds": "illegal_memory_access",
    "misaligned": "misaligned_address",
    "hardware": "illegal_memory_access",
    "uninitialized": "undefined_value",
    "race": "undefined_value",
}
"""By kind, the gravest first."""


def gravest(found: Sequence[Finding]) -> Finding:
    return min(found, key=lambda each: list(REASONS).index(each["kind"]))


def judged(judgement: Judgement, report: Mapping[str, Any]) -> Judgement:
    """`report`: tool, findings, errors (None where it came to no summary), blind (why it did not see all)."""
    found = report["findings"]
    if found:
        reason = _reason(gravest(found))
        more = f"; and {len(found) - 1} more findings" if len(found) > 1 else ""
        return Judgement(
            OUTCOME_OF_REASON[reason], reason, f"{report['tool']}: {says(gravest(found))}{more}"[:500]
        )
    clean = report["errors"] == 0 and not report.get("blind")
    if judgement.outcome == Outcome.WRONG and clean:  # a tool slows a kernel, and may change what it computes
        return replace(
            judgement, detail=f"{report['tool']} found nothing; under it: {judgement.detail}"[:500]
        )
    if judgement.outcome != Outcome.OK:
        return judgement
    if report.get("blind") or report["errors"] is None:
        why = report.get("blind") or "it came to no summary"
        return Judgement(Outcome.NOT_RUN, "env_problem", f"{report['tool']} did not watch to the end: {why}")
    if report["errors"]:
        why = f"it counted {report['errors']} errors that cannot be read here"
        return Judgement(OUTCOME_OF_REASON["unknown"], "unknown", f"{report['tool']}: {why}")
    return Judgement(
        judgement.outcome, judgement.reason, f"{report['tool']} found nothing; {judgement.detail}"
    )


def _reason(finding: Mapping[str, Any]) -> str:
    if finding["kind"] == "hardware":
        words = {"misaligned": "misaligned_address", "illegal instruction": "illegal_instruction"}
        for word, reason in {**words, "assert": "launch_failure", "overflow": "launch_failure"}.items():
            if word in finding["access"]:
                return reason
    return REASONS[finding["kind"]]
