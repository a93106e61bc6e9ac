"""Notebooks run by papermill, nbconvert, nbval or asv. A "kernel" here is the notebook's, not CUDA's."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import Hit, first, sign

NOTEBOOK = (
    sign(
        "notebook_kernel_missing",
        "NoSuchKernel",
        "No such kernel",
        "kernelspec .{0,40}(?:not found|missing)",
        "No kernel name found",
        "Could not find a kernel",
        "kernel .{0,60}not (?:found|installed|registered)",
    ),
    sign(
        "notebook_kernel_died",
        "DeadKernelError",
        "Kernel died",
        "kernel (?:appears to have )?died",
        "Kernel (?:has )?died before replying",
        "kernel (?:is )?dead",
    ),
    sign(
        "notebook_output_lost",
        "IOPub (?:data|message) rate exceeded",
        "Timeout waiting for IOPub",
        "output (?:was |is )?(?:truncated|lost|cut)",
        "iopub.{0,40}timeout",
        "outputs? .{0,40}(?:missing|too large|exceed)",
        "is not valid JSON",
        "not JSON compliant",
        "Unexpected token .{0,20}JSON",
        r"JSON\.parse",
        "NotJSONError",
        "Unterminated string",
        "NotebookValidation",
        "Notebook (?:JSON )?is invalid",
        "Failed validating",
    ),
    sign(
        "notebook_bad_param",
        "(?:Missing|Unknown|unused) parameters?",
        "PapermillMissingParameter",
        "Passed unknown parameter",
        "is not a valid parameter",
        "No cell with tag parameters",
        "parameters? .{0,40}(?:not JSON serializable|could not be parsed|has no effect)",
    ),
    sign(
        "notebook_nondeterministic",
        "Notebook (?:cell execution|comparison)? ?(?:failed|differs).{0,60}outputs? differ",
        "Cell outputs differ",
        "mismatch '?(?:text/plain|stdout|stderr)",
        "disagrees? with reference",
        "Traceback:? dissimilar number of outputs",
        "Unexpected output fields",
    ),
)

_ERROR_INSIDE = re.compile(
    r"\bTraceback \(most recent call last\)|\b[A-Z]\w{2,40}(?:Error|Exception): |UsageError: |"
    r"(?:Line|Cell) magic .{0,60} not found|\"output_type\": ?\"error\""
)
_PARAMETERS = re.compile(r"(?:^|\s)#\s*Parameters\b")
_QUOTED = re.compile(r"(?:^|\s)(\w{1,60}) = (['\"])(.*)\2\s*$")
_STRUCTURED = re.compile(
    r"^\s*[\[({].*[\])}]\s*$|^\s*(?:-?\d+(?:\.\d+)?|true|false|none|null)\s*$", re.IGNORECASE
)


def swallowed(evidence: Evidence) -> Hit | None:
    """An exit code of 0 over an output that shows an error."""
    if evidence.code != 0:
        return None
    line = next((line for line in evidence.lines if _ERROR_INSIDE.search(line)), None)
    return Hit("notebook_error_swallowed", line, "the runner's exit code is 0") if line else None


def quoted_parameter(evidence: Evidence) -> Hit | None:
    """A list, number or truth value that came into the parameters cell as a string, and an error after it."""
    start = next((n for n, line in enumerate(evidence.lines) if _PARAMETERS.search(line)), None)
    failed = evidence.code != 0 and any(
        re.search(r"\w(?:Error|Exception)\b", line) for line in evidence.lines
    )
    if start is None or not failed:
        return None
    for line in evidence.lines[start + 1 : start + 40]:
        found = _QUOTED.search(line)
        if found and _STRUCTURED.match(found.group(3)):
            return Hit("notebook_bad_param", line, "a string where a value was meant")
    return None


_WANTED = re.compile(r"\b(?:kernel_name|--kernel|-k)[ =:'\"]{1,4}([\w.-]{1,60})")
_USED = re.compile(r"kernelspec\b.{0,80}?\"name\": ?\"([\w.-]{1,60})\"")
_RAN_IN = re.compile(
    r"\((existing env|(?:conda|virtualenv|venv|mamba|uv|rattler)[-\w.]{0,30})\)", re.IGNORECASE
)
_PROGRESS = re.compile(r"\b(\d{1,5})/(\d{1,5}) \[\d.{0,40}cell")


def other_kernel(evidence: Evidence) -> Hit | None:
    """The notebook ran in another environment than was asked for, or in two of them."""
    wanted, used = _WANTED.findall(evidence.text), _USED.findall(evidence.text)
    if wanted and used and not set(wanted) & set(used):
        return Hit("env_problem", f"asked for {wanted[0]}, recorded {used[0]}")
    ran_in = sorted(set(_RAN_IN.findall(evidence.text)))
    if len(ran_in) > 1:
        return Hit("measurement_invalid", f"timed in {' and '.join(ran_in[:3])}", "not one environment")
    return None


def unfinished(evidence: Evidence) -> Hit | None:
    """An exit code of 0 before the last cell."""
    counts = _PROGRESS.findall(evidence.text)
    if evidence.code == 0 and counts and int(counts[-1][0]) < int(counts[-1][1]):
        return Hit("notebook_output_lost", f"{counts[-1][0]} of {counts[-1][1]} cells, exit code 0")
    return None


def notebook(evidence: Evidence) -> Hit | None:
    """What went wrong with the notebook itself, in a run that is one."""
    if evidence.kind != "notebook":
        return None
    asked = (lambda known: first(NOTEBOOK, known), quoted_parameter, swallowed, other_kernel, unfinished)
    return next(filter(None, (ask(evidence) for ask in asked)), None)
