"""Slurm: jobs go in through submitit; squeue, scontrol and, where there is one, sacct say what became of them."""

import getpass
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .places import Place

ASK_LIMIT_S = 60
NEVER = ("BadConstraints", "DependencyNeverSatisfied", "PartitionTimeLimit", "PartitionNodeLimit", "InvalidAccount",
         "InvalidQOS", "JobHoldMaxRequeue")  # fmt: skip
"""Why a job waits that will never start."""

Told = tuple[str, str, str]
"""State, reason, and name of a job."""


class Refused(Exception):
    """Slurm does not take the job, and says why."""


class Silent(ValueError):
    """Slurm cannot be asked: it says nothing of any job."""


def check() -> None:
    """Raises ValueError where there is no Slurm to submit to."""
    if not shutil.which("sbatch") or not shutil.which("srun"):
        raise ValueError("no sbatch here: submit from a login node, or with --cluster local")


def job_name(block: str) -> str:
    """What the job of a block is called; `prepare-sm90` and `pages` are blocks in this."""
    return f"workbench-{block}"


def submit(
    command: Sequence[str],
    place: Place,
    block: str,
    log: Path,
    after: Iterable[str] = (),
    requeue: bool = True,
) -> str:
    """The number of the job. Raises Refused."""
    import submitit
    from submitit.core.utils import FailedJobError

    asked = {**place.asked, "requeue" if requeue else "no-requeue": True}
    if after := [each for each in after if each]:
        asked["dependency"] = "afterany:" + ":".join(after)
    executor = submitit.SlurmExecutor(folder=log)
    executor.update_parameters(
        job_name=job_name(block),
        time=place.time_min,
        use_srun=False,
        stderr_to_stdout=True,
        additional_parameters=asked,
    )
    body = submitit.helpers.CommandFunction([str(part) for part in command])
    try:
        return str(executor.submit(body).job_id)
    except FailedJobError as problem:
        raise Refused(_reason(str(problem))) from problem


def _reason(text: str) -> str:
    said = re.findall(r"(?:error|fatal): (.+)", text)
    return " ".join(dict.fromkeys(said))[:300] or text.strip()[-300:]


def ask(jobs: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Job -> its state in Slurm's words and the reason given; a job that nobody knows any more is left out.

    `jobs` are numbers and names: a controller that has lost its memory gives numbers out again. Raises Silent.
    """
    found = _squeue()
    known = {}
    for job, name in jobs.items():
        state = found.get(job) or _scontrol(job) or _sacct(job)
        if state and state[2] == name:
            known[job] = state[:2]
    return known


def _squeue() -> dict[str, Told]:
    done = _call(
        "squeue", "--noheader", "--states=all", f"--user={getpass.getuser()}", "--format=%i|%T|%j|%r"
    )
    if done is None or done.returncode:
        raise Silent(f"Slurm cannot be asked: {_line(done.stderr) if done else 'no squeue'}")
    rows = [line.strip().split("|", 3) for line in done.stdout.splitlines() if line.count("|") >= 3]
    return {job: (state, reason, name) for job, state, name, reason in rows}


def _scontrol(job: str) -> Told | None:
    done = _call("scontrol", "--oneliner", "show", "job", job)
    if done is None or done.returncode:
        return None
    facts = {name: value for name, value in re.findall(r"\b(JobState|Reason|JobName)=(\S*)", done.stdout)}
    return facts.get("JobState", ""), facts.get("Reason", ""), facts.get("JobName", "")


def _sacct(job: str) -> Told | None:
    done = _call(
        "sacct",
        "--noheader",
        "--parsable2",
        "--allocations",
        f"--jobs={job}",
        "--format=State,Reason,JobName",
    )
    if done is None or done.returncode or done.stdout.count("|") < 2:
        return None
    state, reason, name = done.stdout.splitlines()[-1].split("|", 2)
    return state.split()[0], reason, name


def cancel(jobs: Mapping[str, str]) -> None:
    """End those of the jobs that Slurm knows under this number and name. Raises Silent."""
    if not (mine := list(ask(jobs))):
        return
    done = _call("scancel", *mine)
    if done is None or (done.returncode and "Invalid job id" not in done.stderr):
        raise Silent(f"Slurm cannot be asked: {_line(done.stderr) if done else 'no scancel'}")


def _line(text: str) -> str:
    return " ".join(text.split())[:200]


def _call(*command: str) -> "subprocess.CompletedProcess[str] | None":
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=ASK_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None


def body(role: str, file: Path, of: str = "") -> list[str]:
    """The command that a job is."""
    return [sys.executable, "-m", "workbench.cluster.job", role, str(file), *([of] if of else [])]
