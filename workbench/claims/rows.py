"""Puts claims, measured results and reports side by side.

The exact rule stands beside the family rule of serving projects, which takes a family's first member for all of it.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench import known_issues
from workbench.doctor import Fingerprint
from workbench.environments import Built
from workbench.results import Outcome, Results

from .asking import ask, read
from .claim import Claim
from .measured import BAD, measured
from .table import ASKED

SMS = (90, 100, 103, 120, 121)
BASE = {10: 100, 12: 120}  # a family by the major number, and the member that a family check stands for
INVARIANT = "VLLM_BATCH_INVARIANT"
CONDITION = "trtllm attention, as serving projects switch it on"


def claims(built: Built, found: Fingerprint, results: Results, sms: Iterable[int] = SMS) -> list[Claim]:
    """A row for each function and GPU. Raises BuildError where the interpreter cannot be asked."""
    wanted = list(dict.fromkeys(sms))
    every = sorted({*wanted, *BASE.values()})
    answers = ask(built, every)
    if lacking := [name for name, each in answers.items() if not each["found"] and not each["how"]]:
        answers |= read(Path(found.facts["flashinfer"] or os.devnull), lacking, every)
    issues = known_issues.load()
    rows = [
        _row(function, answers[function], sm, found, results, issues) for function in ASKED for sm in wanted
    ]
    return rows + [condition(found, sm) for sm in wanted]


def _row(
    function: str, answer: dict[str, Any], sm: int, found: Fingerprint, results: Results, issues: list[Any]
) -> Claim:
    kernel = ASKED[function][0]
    exact = answer["sm"].get(str(sm))
    family = answer["sm"].get(str(BASE.get(sm // 10, sm)))
    shown, outcomes = measured(results, function, sm, found.version("flashinfer-python"))
    reported = known_issues.match(issues, function=function, sm=sm, versions=found.packages)
    good, bad = Outcome.OK in outcomes, bool(outcomes & BAD)
    out = (exact is True and bad and not good) or (exact is False and good)
    return Claim(
        function, kernel, sm, exact, family, answer["how"] or "not stated", _detail(answer, sm, exact, family),
        shown, tuple(each.text for each in reported), out,
    )  # fmt: skip


def _detail(answer: dict[str, Any], sm: int, exact: bool | None, family: bool | None) -> str:
    said = [answer["why"]] if answer["why"] else []
    backends = {name: by.get(str(sm)) for name, by in answer.get("backends", {}).items()}
    if backends:
        can = [name for name, allowed in backends.items() if allowed]
        said.append(f"backends: {', '.join(can) or 'none'} of {', '.join(backends)}")
    if exact is not None and family is not None and exact != family:
        said.append(f"a check of the family would say {'yes' if family else 'no'}")
    return "; ".join(said)


def condition(found: Fingerprint, sm: int) -> Claim:
    """SM100 family, artifacts to be had, and answers need not be invariant to the batch."""
    held, variables = found.facts["artifacts"], found.facts["variables"]
    lies = bool(held["installed"] or held["fetched"])
    to_be_had = lies or (held["download"] and held["reachable"])
    invariant = variables.get(INVARIANT, "0") not in ("", "0")
    parts = {
        "SM100 family": sm // 10 == 10,
        "kernels installed, fetched before, or the server reachable": bool(to_be_had),
        f"batch-invariant mode off ({INVARIANT})": not invariant,
    }
    detail = "; ".join(f"{name}: {'yes' if met else 'no'}" for name, met in parts.items())
    family = all(parts.values())
    return Claim(CONDITION, "trtllm_attention", sm, family and sm == 100, family, "condition", detail)
