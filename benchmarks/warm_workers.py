"""What warm workers save: a plan of trials in one environment, by one process and by a process each.

    python benchmarks/warm_workers.py [TRIALS] [SPEC]

The called function does nothing, so that what is left is the tool's own time and the imports.
"""

import os
import sys
import time
from pathlib import Path

from workbench import environments
from workbench.workers import Worker

KERNEL = Path(__file__).with_name("nothing.py").resolve()
COMMAND = {"kernel_file": str(KERNEL), "mode": "eager", "device": "cpu", "sm": "", "effort": "quick"}


def main(trials: int, spec: str) -> None:
    built = environments.build(environments.parse(spec), folder=Path(".environments"))
    variables = {**os.environ, **built.variables}
    for name, together in (("one warm process", trials), ("a process each", 1)):
        began = time.monotonic()
        for first in range(0, trials, together):
            worker = Worker(built.python, variables)
            for n in range(first, first + together):
                told = worker.run({**COMMAND, "case": {"n": n}})
                assert told.end == "done", told.stderr
            worker.close()
        wall_s = time.monotonic() - began
        print(f"{name}: {trials} trials in {wall_s:.1f} s, {1000 * wall_s / trials:.0f} ms a trial")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, sys.argv[2] if len(sys.argv) > 2 else "here")
