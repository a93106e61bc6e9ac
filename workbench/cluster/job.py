"""The body of a job: `python -m workbench.cluster.job ROLE SUBMISSION [OF]`. ROLE is prepare (OF: a GPU family),
block (OF: its name) or pages.

It is our own supervisor, started as a command, so nothing is pickled from one Python to another. It ends with 0
whatever the kernels did; what it could not do is said by the mark that is not there.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench import gpus, planning, runner
from workbench.commands import run as command

from .blocks import Block
from .node import alone, job_number, unfit, visible_gpu
from .preparing import modules_of, options_of, prepare
from .submission import PAGES, Submission, open_submission, write

PATIENCE_S = 2.0  # whoever ends a job ends its processes one by one: ours may be the last


def main() -> int:
    role, file, *rest = sys.argv[1:]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # the runner knows how to be interrupted
    signal.signal(
        signal.SIGUSR2, lambda *_: None
    )  # a warning of the engine; ignored, it would be so in the workers
    submission = open_submission(Path(file))
    if role == "prepare":
        prepare([block for block in submission.blocks if block.family == rest[0]])
    elif role == PAGES:
        return pages(submission)
    else:
        do(submission, submission.block(rest[0]))
    return 0


def do(submission: Submission, block: Block) -> None:
    """Run a block; started again, it goes on where it was stopped."""
    if submission.ended(block):
        return
    job, start = job_number(), os.environ.get("SLURM_RESTART_COUNT", "0")
    write(submission.mark("started", block.name), {"job": job, "start": int(start), "at": time.time()})
    about = {"name": block.name, "family": block.family, "submission": submission.id, "job": job}
    os.environ["WORKBENCH_BLOCK"] = json.dumps(about)
    index = visible_gpu()
    if problem := unfit(block, gpus.here(index)):
        write(submission.mark("ended", block.name), {**about, "refused": problem})
        return
    with alone(submission.lines(block)) as sure:
        # A comparison is of one run, however often the engine starts it.
        name = submission.run(block) if sure and block.options.get("interleave") else ""
        summary = _run(submission, block, index, name=name, part=f"{job}-{start}")
    if not summary.stopped:
        facts = {"outcomes": dict(summary.outcomes), "skipped": summary.skipped, "wall_s": summary.wall_s}
        write(submission.mark("ended", block.name), {**about, "start": int(start), **facts})


def _run(submission: Submission, block: Block, index: int, **how: str) -> Any:
    options = options_of(block)
    options.results, options.gpu = str(submission.lines(block)), index
    options.prebuilt = modules_of(options)
    gpu = gpus.here(index)
    kernels, environments = command._kernels(options), command._environments(options)
    planned = planning.plan(kernels, environments, options.mode or planning.MODES, gpu, block.cpu)
    return runner.run(planned, gpu, replace(command._options(options), patience_s=PATIENCE_S, **how))


def pages(submission: Submission) -> int:
    """Say what became of jobs without results, then write the pages from all result lines."""
    from .standing import states
    from .unfinished import unfinished

    with contextlib.suppress(OSError):
        unfinished(submission, states(submission))
    command = ["report", "--results", str(submission.results), "--site", submission.site]
    command += ["--notebooks", submission.notebooks]
    code = subprocess.run([sys.executable, "-m", "workbench", *command]).returncode
    if code == 0:
        write(submission.mark("ended", PAGES), {"job": job_number()})
    return code


if __name__ == "__main__":
    sys.exit(main())
