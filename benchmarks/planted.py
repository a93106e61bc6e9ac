"""Reads planted 1, 4 and 64 bytes past tensors: which does a fence stop, and does it let clean calls pass?

    python benchmarks/planted.py [RESULTS]        # on a machine with a GPU, torch and triton; about five minutes

Prints a line a trial; exit code 1 where the fence missed a read or stopped a call that reads only its own.
"""

import sys
import tempfile
from pathlib import Path

from workbench import environments, gpus, planning, runner
from workbench.results import Outcome, Result
from workbench.store import load

KERNEL = Path(__file__).parents[1] / "tests" / "kernels" / "planted.py"
# Mode -> the side on which it stops reads.
STOPS = {"eager": None, "fenced": "after", "fenced_start": "before"}


def main(results: Path) -> int:
    here = environments.parse("here", sys.executable)
    gpu = gpus.here(0)
    if gpu is None:
        raise SystemExit("no GPU here")
    planned = planning.plan([planning.from_file(KERNEL)], [here], tuple(STOPS), gpu)
    runner.run(planned, gpu, runner.Options(results=results, effort="quick", quiet=True, reruns=False))
    made = [each for each in load(results) if each.attempt and not each.rerun]
    wrong = [each for each in made if not as_planted(each)]
    for each in made:
        said = "" if as_planted(each) else "  <- NOT AS PLANTED"
        print(f"{each.trial.mode:13} {each.trial.label:38} {each.outcome}: {each.detail[:90]}{said}")
    print(f"{len(made)} of {len(planned)} trials, {len(wrong)} not as planted")
    return int(bool(wrong) or len(made) < len(planned))


def as_planted(result: Result) -> bool:
    if result.trial.case["side"] != STOPS[result.trial.mode]:
        return result.outcome == Outcome.OK
    return result.reason == "illegal_memory_access"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())))
