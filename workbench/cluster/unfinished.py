"""What becomes of trials that their job cannot bring any more: not run, with the engine's reason; never a crash."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.results import OUTCOME_OF_REASON, Result, Trial
from workbench.store import save_all

from .blocks import Block
from .standing import Engine, State
from .submission import Submission, missing

SAYS: Mapping[Engine, str] = {
    Engine.LOST: "the node was lost",
    Engine.CANCELLED: "the job was cancelled",
    Engine.TIME_LIMIT: "the job reached its time limit",
    Engine.REFUSED: "the engine did not take the job",
    Engine.NOT_RUN: "the job ended without a word",
}


def unfinished(submission: Submission, known: Mapping[str, State]) -> int:
    """Write a `not_run` line for each trial that its job cannot bring any more; how many there are.

    The lines are in a file of their own, made anew each time, so a later job's results stand alone.
    """
    count = 0
    for block in submission.blocks:
        state = known[block.name]
        if state.under_way or state.engine == Engine.UNKNOWN:
            continue
        lines = [] if state.engine == Engine.DONE else [
            _line(submission, block, state, each) for each in missing(submission, block)
        ]  # fmt: skip
        _replace(lines, submission.lines(block) / "unfinished" / "not_run.jsonl")
        count += len(lines)
    return count


def _line(submission: Submission, block: Block, state: State, planned: dict[str, Any]) -> Result:
    reason = state.engine.value
    about = {"name": block.name, "family": block.family, "submission": submission.id, "job": state.job}
    return Result(
        trial=Trial(**planned["trial"]),
        run=submission.run(block),
        outcome=OUTCOME_OF_REASON[reason],
        reason=reason,
        detail=": ".join(part for part in (SAYS[state.engine], state.why) if part),
        attempt=0,
        kernel_hash=str(planned["kernel_hash"]),
        provenance={"block": about},
    )


def _replace(lines: list[Result], file: Path) -> None:
    if not lines:
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
        return
    part = file.with_suffix(".part")
    part.unlink(missing_ok=True)
    save_all(lines, part)
    part.replace(file)
