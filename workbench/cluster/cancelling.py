"""Ends the jobs of a submission; what they have stored stays, and what they have not is `not_run`."""

from . import local, slurm
from .standing import states
from .submission import Submission, write


def cancel(submission: Submission) -> list[str]:
    """The blocks that were still waiting or running. Raises slurm.Silent."""
    under_way = [name for name, state in states(submission).items() if state.under_way]
    if submission.engine == "slurm":
        slurm.cancel({job: slurm.job_name(name) for name, job in submission.jobs.items()})
    write(submission.folder / "cancelled", {"blocks": under_way})
    if submission.engine == "local":
        local.cancel(submission.queue)
    return under_way
