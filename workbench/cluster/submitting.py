"""Hands blocks to an engine: first a job that prepares, then a job a block, last the one that makes the pages."""

from collections.abc import Callable

from workbench import gpus

from . import local, slurm
from .places import Place
from .standing import states
from .submission import Submission, submissions

PREPARE, PAGES = "prepare", "pages"


def submit(
    submission: Submission,
    places: list[Place],
    cpu: Place,
    *,
    index: int = 0,
    requeue: bool = True,
    say: Callable[[str], None] = print,
) -> Submission:
    """The submission, saved with the numbers of its jobs. Raises ValueError where the engine is not there."""
    if submission.engine == "slurm":
        slurm.check()
    _refuse_twins(submission)
    submission.save()  # before the first job can start
    if submission.engine == "local":
        _locally(submission, index)
    else:
        _on_slurm(submission, {place.family: place for place in places}, cpu, requeue)
    submission.save()
    for name, why in submission.refused.items():
        say(f"{name} is refused: {why}")
    return submission


def _refuse_twins(submission: Submission) -> None:
    """The same work is not handed over a second time while the first is under way."""
    names = {block.name for block in submission.blocks}
    for other in submissions(submission.results):
        shared = [block for block in other.blocks if block.name in names and not other.ended(block)]
        if shared and any(states(other)[block.name].under_way for block in shared):
            raise ValueError(
                f"{shared[0].name} is under way in submission {other.id}; see `workbench status`"
            )


def _on_slurm(submission: Submission, places: dict[str, Place], cpu: Place, requeue: bool) -> None:
    log, file = submission.folder / "log", submission.file
    first = []
    if submission.builds:
        submission.jobs[PREPARE] = slurm.submit(slurm.body(PREPARE, file), cpu, PREPARE, log)
        first = [submission.jobs[PREPARE]]
    for block in submission.blocks:
        body = slurm.body("block", file, block.name)
        try:
            job = slurm.submit(body, places[block.family], block.name, log, first, requeue)
            submission.jobs[block.name] = job
        except slurm.Refused as problem:
            submission.refused[block.name] = str(problem)
        submission.save()  # so that nothing is forgotten if we are interrupted
    if submission.site:
        after = [submission.jobs[block.name] for block in submission.blocks if block.name in submission.jobs]
        body = slurm.body(PAGES, file)
        submission.jobs[PAGES] = slurm.submit(body, cpu, PAGES, log, after or first)


def _locally(submission: Submission, index: int) -> None:
    gpu = gpus.here(index)
    for block in submission.blocks:
        if block.on_gpu and (gpu is None or gpu.family != block.family):
            has = f"{gpu.name} ({gpu.family})" if gpu else "no GPU"
            submission.refused[block.name] = f"this machine has {has}, not {block.family}"
    submission.save()
    submission.queue = local.start(submission, index)
