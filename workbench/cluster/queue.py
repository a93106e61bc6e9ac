"""The queue of one submission on this machine: `python -m workbench.cluster.queue SUBMISSION`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from workbench import gpus, locks

from . import slurm
from .local import WHERE
from .submission import PAGES, Submission, open_submission, write


class Queue:
    """Prepare, the blocks one after the other, the pages; SIGTERM ends what is at work and all that follows."""

    def __init__(self, submission: Submission, index: int):
        self.submission, self.index = submission, index

    def __call__(self) -> None:
        try:
            if self.submission.builds:
                for family in self.submission.families:
                    self._run("prepare", family)
            for block in self.submission.blocks:
                if block.name in self.submission.refused or self.submission.cancelled:
                    continue
                with locks.hold(self._card(), say=print):
                    self._run("block", block.name)
        except KeyboardInterrupt:
            (self.submission.folder / "cancelled").touch()
        if self.submission.site and not self.submission.cancelled:
            self._run(PAGES)

    def _card(self) -> str:
        gpu = gpus.here(self.index)
        return f"cluster-{gpu.uuid_hash if gpu else 'cpu'}"

    def _run(self, role: str, of: str = "") -> None:
        """One job; a mark says where it has failed."""
        name = of if role == "block" else f"{role}-{of.lower()}".rstrip("-")
        log = self.submission.folder / "log"
        log.mkdir(exist_ok=True)
        with (log / f"{name}.out").open("ab") as out:
            variables = (
                {**os.environ, "CUDA_VISIBLE_DEVICES": str(self.index)} if gpus.here(self.index) else None
            )
            command = slurm.body(role, self.submission.file, of)
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=variables
            )
            try:
                process.wait()
            except KeyboardInterrupt:
                process.terminate()
                process.wait()
                raise
        if process.returncode:
            write(self.submission.mark("failed", name), {"returncode": process.returncode})


def main() -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    Queue(open_submission(Path(sys.argv[1])), int(os.environ.get(WHERE, "0")))()
    return 0


if __name__ == "__main__":
    sys.exit(main())
