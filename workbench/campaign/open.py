"""What a campaign planned and did not run, by the steps of its plan: a JSON list of `step`, `trials` and `why`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.results import Outcome, Result, Results, Trial
from workbench.showing.shown import Shown
from workbench.strict_json import json_in
from workbench.untrusted import plain

HEADS = ("step", "planned", "run", "not run", "why not")
EMPTY = "No plan is there: a JSON list of steps, each with its `trials` as `workbench run --dry-run --json` has them."
NO_ATTEMPT = "no attempt is stored"


def not_run(results: Results, plan: Path | str) -> Shown:
    """A row a step; a trial counts as run where something is known of it."""
    known: dict[tuple[str, ...], list[Result]] = {}
    for result in results:
        trial = result.trial
        known.setdefault((trial.kernel, trial.case_text, trial.mode, trial.environment), []).append(result)
    rows = tuple(_row(step, known) for step in _steps(plan))
    open_ = sum(row[3] != "0" for row in rows)
    return Shown(f"The plan: {open_} of {len(rows)} steps are not wholly run", HEADS, rows, EMPTY)


def _steps(plan: Path | str) -> list[dict[str, Any]]:
    if not Path(plan).is_file():
        return []
    found = json_in(Path(plan))
    if not isinstance(found, list) or not all(map(_is_step, found)):
        raise ValueError(
            f"{plan} is no list of steps, each with its trials as `workbench run --dry-run --json` has them"
        )
    return found


def _is_step(each: Any) -> bool:
    trials = each.get("trials", []) if isinstance(each, dict) and "step" in each else None
    return isinstance(trials, list) and all(map(_is_trial, trials))


def _is_trial(each: Any) -> bool:
    names = ("kernel", "mode", "environment")
    return (
        isinstance(each, dict)
        and isinstance(each.get("case"), dict)
        and all(isinstance(each.get(name), str) for name in names)
    )


def _row(step: dict[str, Any], known: dict[tuple[str, ...], list[Result]]) -> tuple[str, ...]:
    trials = step.get("trials", [])
    attempts = [known.get(_key(each), []) for each in trials]
    ran = [any(each.outcome != Outcome.NOT_RUN for each in some) for some in attempts]
    missing = [some for some, done in zip(attempts, ran, strict=True) if not done]
    why = [str(step["why"])] if step.get("why") else list(dict.fromkeys(map(_why, missing)))
    left = str(len(missing)) if trials else "all"
    return (
        plain(step["step"], 200),
        str(len(trials)),
        str(sum(ran)),
        left,
        "; ".join(plain(each, 200) for each in why) or "-",
    )


def _key(trial: dict[str, Any]) -> tuple[str, ...]:
    asked = Trial(trial["kernel"], trial["case"], trial["mode"], trial["environment"], "")
    return asked.kernel, asked.case_text, asked.mode, asked.environment


def _why(attempts: Iterable[Result]) -> str:
    said = [each.detail.partition("\n")[0] or each.reason for each in attempts]
    return said[-1] if said else NO_ATTEMPT
