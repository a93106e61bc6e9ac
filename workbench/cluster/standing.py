"""How the blocks of a submission stand: from their own marks first, and from the engine only where there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from . import local, slurm
from .blocks import Block
from .submission import PAGES, Submission, read


class Engine(StrEnum):
    DONE = "done"
    WAITING = "waiting"
    RUNNING = "running"
    LOST = "node_lost"
    CANCELLED = "cancelled"
    TIME_LIMIT = "time_limit"
    REFUSED = "refused"
    NOT_RUN = "not_run"  # it ended without a word, or nobody knows it any more
    UNKNOWN = "unknown"  # the engine cannot be asked


@dataclass(frozen=True)
class State:
    """Of one block. `why` is for people."""

    engine: Engine
    why: str = ""
    job: str = ""

    @property
    def under_way(self) -> bool:
        return self.engine in (Engine.WAITING, Engine.RUNNING)


OF_SLURM: Mapping[str, Engine] = {
    "CANCELLED": Engine.CANCELLED, "REVOKED": Engine.CANCELLED, "PREEMPTED": Engine.CANCELLED,
    "NODE_FAIL": Engine.LOST, "BOOT_FAIL": Engine.LOST,
    "TIMEOUT": Engine.TIME_LIMIT, "DEADLINE": Engine.TIME_LIMIT,
    "RUNNING": Engine.RUNNING, "COMPLETING": Engine.RUNNING, "SUSPENDED": Engine.RUNNING, "STOPPED": Engine.RUNNING,
    "STAGE_OUT": Engine.RUNNING, "SIGNALING": Engine.RUNNING,
    "COMPLETED": Engine.NOT_RUN, "FAILED": Engine.NOT_RUN, "OUT_OF_MEMORY": Engine.NOT_RUN,
}  # fmt: skip
"""All other states are of jobs that wait for their turn."""


def states(submission: Submission) -> dict[str, State]:
    """Block -> how it stands. The engine is asked once, and only about blocks that have not said that they ended."""
    return _states(submission, submission.blocks)


def pages(submission: Submission) -> State | None:
    """How the job stands that makes the pages; None where none was asked for."""
    return _states(submission, [Block(PAGES, "", "")])[PAGES] if submission.site else None


def _states(submission: Submission, blocks: list[Block]) -> dict[str, State]:
    found: dict[str, State] = {}
    for block in blocks:
        ended = submission.ended(block)
        if why := submission.refused.get(block.name) or ended.get("refused"):
            found[block.name] = State(Engine.REFUSED, str(why))
        elif ended:
            found[block.name] = State(Engine.DONE, job=str(ended.get("job", "")))
    open_ones = [block for block in blocks if block.name not in found]
    if open_ones:
        ask = _ask_queue if submission.engine == "local" else _ask_slurm
        found |= ask(submission, open_ones)
    return {block.name: found[block.name] for block in blocks}


def _ask_slurm(submission: Submission, blocks: list[Block]) -> dict[str, State]:
    jobs = {block.name: submission.jobs.get(block.name, "") for block in blocks}
    try:
        answers = slurm.ask({job: slurm.job_name(name) for name, job in jobs.items() if job})
    except slurm.Silent as problem:
        return {name: State(Engine.UNKNOWN, str(problem), job) for name, job in jobs.items()}
    return {block.name: _late(submission, block, answers.get(jobs[block.name])) for block in blocks}


def _late(submission: Submission, block: Block, answer: tuple[str, str] | None) -> State:
    """Its state in our words; looks once more at the marks, for it may have ended while we asked."""
    if ended := submission.ended(block):
        return State(Engine.REFUSED if ended.get("refused") else Engine.DONE, str(ended.get("refused", "")))
    job = submission.jobs.get(block.name, "")
    if not job:
        return State(Engine.NOT_RUN, "it was never handed over: the submission was interrupted")
    if answer is None:
        engine = Engine.CANCELLED if submission.cancelled else Engine.NOT_RUN
        return State(engine, "Slurm does not know the job any more", job)
    word, reason = answer
    reason = "" if reason in ("None", "") else f" ({reason})"
    if word == "PENDING" and reason.strip(" ()") in slurm.NEVER:
        return State(Engine.REFUSED, f"it can never start{reason}", job)
    engine = OF_SLURM.get(word, Engine.WAITING)
    log = _log(submission, f"{job}_0_log") if engine == Engine.NOT_RUN else ""
    return State(engine, f"Slurm says {word}{reason}{log}", job)


def _log(submission: Submission, name: str) -> str:
    return f"; its log is {submission.folder.name}/log/{name}.out"


def _ask_queue(submission: Submission, blocks: list[Block]) -> dict[str, State]:
    alive = local.alive(submission.queue)
    found = {}
    for block in blocks:
        started = read(submission.mark("started", block.name))
        if ended := submission.ended(block):
            found[block.name] = State(Engine.REFUSED if ended.get("refused") else Engine.DONE)
        elif submission.cancelled:
            found[block.name] = State(Engine.CANCELLED)
        elif submission.mark("failed", block.name).exists():
            found[block.name] = State(Engine.NOT_RUN, f"its job failed{_log(submission, block.name)}")
        elif alive:
            found[block.name] = State(Engine.RUNNING if started else Engine.WAITING)
        else:
            found[block.name] = State(Engine.LOST if started else Engine.NOT_RUN, "its queue is gone")
    return found
