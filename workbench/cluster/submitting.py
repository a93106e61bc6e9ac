"""Hands blocks to an engine: a job a family that prepares, then a job a block, last the one that makes the pages."""

from collections.abc import Callable, Iterable

from workbench import gpus

from . import local, slurm
from .keeping import kept
from .places import Place
from .standing import states
from .submission import PAGES, Submission, submissions

PREPARE = "prepare"


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
    files = submission.folder / "files"
    submission.blocks = [kept(block, files / block.name) for block in submission.blocks]
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
    file = submission.file
    if submission.builds:
        for family in submission.families:
            _hand(submission, f"{PREPARE}-{family.lower()}", slurm.body(PREPARE, file, family), cpu)
    for block in submission.blocks:
        first, body = f"{PREPARE}-{block.family.lower()}", slurm.body("block", file, block.name)
        if why := submission.refused.get(first):
            submission.refused[block.name] = f"{first} is refused: {why}"
        else:
            _hand(submission, block.name, body, places[block.family], [first], requeue)
    if not submission.families:
        submission.refused[PAGES] = "no block was taken"
    elif submission.site:
        _hand(submission, PAGES, slurm.body(PAGES, file), cpu, [block.name for block in submission.blocks])


def _hand(
    submission: Submission,
    name: str,
    body: list[str],
    place: Place,
    after: Iterable[str] = (),
    requeue: bool = True,
) -> None:
    """One job, after those named; saved at once, so that nothing is forgotten if we are interrupted."""
    jobs = [submission.jobs[each] for each in after if each in submission.jobs]
    try:
        submission.jobs[name] = slurm.submit(body, place, name, submission.folder / "log", jobs, requeue)
    except slurm.Refused as problem:
        submission.refused[name] = str(problem)
    submission.save()


def _locally(submission: Submission, index: int) -> None:
    gpu = gpus.here(index)
    for block in submission.blocks:
        if block.on_gpu and (gpu is None or gpu.family != block.family):
            has = f"{gpu.name} ({gpu.family})" if gpu else "no GPU"
            submission.refused[block.name] = f"this machine has {has}, not {block.family}"
    submission.save()
    submission.queue = local.start(submission, index)
