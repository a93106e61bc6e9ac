"""What isolation costs: one plan as `workbench run` does it, and in one plain process that does the same.

    python benchmarks/isolated.py --environment flashinfer==0.6.11.post1 --kernel trtllm_attention --mode graph ...

Takes the options of `workbench run`. Each way is run once to warm its caches and then twice, in turn and back
(A B B A), whole commands timed, from the start of Python to its end.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workbench import environments, gpus, planning
from workbench.commands import run as command
from workbench.crew import Crew
from workbench.progress import Progress

PLAIN = """
import importlib, json, sys
sys.path[:0] = [sys.argv[1]]
start = importlib.import_module("start")
start.package("workbench_worker", sys.argv[1])
trial = importlib.import_module("workbench_worker.trial")
ended = 0
for command in json.load(open(sys.argv[2])):
    told = {}
    tell = lambda **facts: told.update(facts)
    trial.run(command, trial.Stage(tell), tell)
    ended += "median_us" in told.get("time", {})
print(ended)
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ways = {"isolated": _isolated(Path(folder)), "plain": _plain(options, Path(folder))}
        wall_s: dict[str, list[float]] = {name: [] for name in ways}
        for name in ("isolated", "plain", "isolated", "plain", "plain", "isolated"):
            began = time.monotonic()
            timed = ways[name]()
            wall_s[name].append(round(time.monotonic() - began, 2))
            print(f"{name}: {timed} trials timed, {wall_s[name][-1]} s", flush=True)
        warm = {name: sum(each[1:]) / 2 for name, each in wall_s.items()}
        print(json.dumps({"wall_s": wall_s, "ratio": round(warm["isolated"] / warm["plain"], 3)}))


def _isolated(folder: Path):
    given = [*sys.argv[1:], "--again", "--json", "--results", folder / "results"]

    def run() -> int:
        words = [sys.executable, "-m", "workbench", "run", *map(str, given)]
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
        return json.loads(done.stdout)["outcomes"].get("ok", 0)

    return run


def _plain(options: argparse.Namespace, folder: Path):
    made, gpu = command._options(options), gpus.here(options.gpu)
    kernels, chosen = command._kernels(options), command._environments(options)
    planned = planning.plan(kernels, chosen, options.mode or planning.MODES, gpu)
    built = environments.build(chosen[0], folder=made.environments_folder, wheels=made.wheels)
    crew = Crew(gpu, made, Progress(0, quiet=True))
    if made.prebuilt and gpu:
        from workbench import prebuilt

        version, unpacked = built.packages.get("flashinfer-python", ""), made.environments_folder / "modules"
        crew.ahead[chosen[0]] = prebuilt.modules(made.prebuilt, version, gpu.sm, unpacked)
    (folder / "plan.json").write_text(json.dumps([crew._command(each) for each in planned]))
    worker = Path(environments.__file__).parents[1] / "worker"
    words = [built.python, "-I", "-c", PLAIN, worker, folder / "plan.json"]

    def run() -> int:
        variables = {**os.environ, **built.variables}
        done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=variables)
        return int(done.stdout.split()[-1])

    return run


if __name__ == "__main__":
    main()
