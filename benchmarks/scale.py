"""How long 100,000 attempts take: to append to, to parse, to load from the cache, and to show on all pages.

    python benchmarks/scale.py [ATTEMPTS]

The attempts are made up from the stored ones: eight versions on four GPUs, each trial visited 25 times by turns. One
JSON line a step, with wall and CPU seconds, and the most memory its processes held together (resident, sampled, what
they share counted twice). Two cores are used.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import psutil

from workbench import load
from workbench.planned import planned
from workbench.results import Outcome, Result
from workbench.store import save

ROOT = Path(__file__).parent.parent
VERSIONS = [f"flashinfer 0.{minor}.{patch}" for minor, patch in product((6, 7), range(4))]
GPUS = [f"Example GPU {letter}" for letter in "ABCD"]
VISITS = list(product("ab", range(1, 7), (1, 2)))  # arm, process, visit
SECONDS_BETWEEN_LOOKS = 0.1
LOAD = """import sys, time; from workbench import store; began = time.process_time()
count = len(store.load(sys.argv[1])); print(count, "loaded in", round(time.process_time() - began, 2), "CPU s")"""
PARSE = """import gc, sys, time; from pathlib import Path; from workbench import store; gc.disable()
files, began = sorted(Path(sys.argv[1]).rglob("*.jsonl")), time.process_time()
count = sum(len(store._parsed(file).attempts) for file in files)
print(count, "parsed in", round(time.process_time() - began, 2), "CPU s")"""


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with tempfile.TemporaryDirectory() as folder:
        results, site = Path(folder) / "results", Path(folder) / "site"
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        made = write(results, wanted)
        print(
            json.dumps(
                {"attempts": made, "bytes": sum(file.stat().st_size for file in results.rglob("*.jsonl"))}
            )
        )
        appended(results)
        time.sleep(3)  # a file that was just written is not cached
        count = [sys.executable, "-c", LOAD, str(results)]
        pages = [sys.executable, "-m", "workbench", "report", f"--results={results}", f"--site={site}"]
        parse = [sys.executable, "-c", PARSE, str(results)]
        step("parsed", parse)
        step("parsed, cache made", count)
        step("loaded from the cache", count)
        step("all pages", pages)
        step("all pages, no cache yet", pages, XDG_CACHE_HOME=f"{folder}/other")
        sizes = {page.name: page.stat().st_size for page in sorted(site.glob("*.html"))}
        print(json.dumps({"page bytes": sizes}))


def write(results: Path, wanted: int) -> int:
    """Writes about so many attempts, a file for each GPU and version; how many it were."""
    each = wanted // len(GPUS) // len(VERSIONS)
    stored = load(ROOT / "results")
    timed = list({result.trial.id: result for result in planned(stored) if result.attempt > 0}.values())
    for (number, gpu), version in product(enumerate(GPUS), VERSIONS):
        file = results / f"gpu-{number}" / f"{version.replace(' ', '-')}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(asdict(result)) for result in attempts(timed, gpu, version, each)]
        file.write_text("\n".join(lines) + "\n")
    return each * len(GPUS) * len(VERSIONS)


def attempts(stored: list[Result], gpu: str, version: str, most: int) -> Iterator[Result]:
    """Trials as they are stored, visited by turns, each time a little longer or shorter."""
    noise = random.Random(f"{gpu} {version}")
    card = {"name": gpu, "sm": "9.0", "uuid_hash": gpu.replace(" ", "-").lower()}
    unlike = {(result.trial.kernel, result.trial.label, result.trial.mode): result for result in stored}
    visited = product(unlike.values(), enumerate(VISITS, start=1))
    for _, (result, (number, (arm, generation, visit))) in zip(range(most), visited, strict=False):
        place = {"arm": arm, "generation": generation, "visit": visit, "attempt": number}
        trial = replace(result.trial, environment=version, gpu=gpu)
        facts = {"time": moved(result.time, noise), "provenance": result.provenance | {"gpu": card}}
        if version == VERSIONS[-1] and result.trial.kernel == "mxfp4_swiglu":
            facts |= {"outcome": Outcome.CRASHED, "reason": "illegal_memory_access", "time": {}}
        yield replace(result, trial=trial, run="made-up", **facts, **place)


def moved(times: dict[str, Any], noise: random.Random) -> dict[str, Any]:
    by = noise.uniform(0.99, 1.01)
    samples = [round(sample * by * noise.uniform(0.99, 1.01), 3) for sample in times.get("samples_us", ())]
    middles = {name: times[name] * by for name in ("median_us", "q1_us", "q3_us") if times.get(name)}
    return times | middles | ({"samples_us": samples} if samples else {})


def appended(results: Path) -> None:
    """What one more line costs in an empty file and in the largest there is."""
    large = max(results.rglob("*.jsonl"), key=lambda file: file.stat().st_size)
    one = load(ROOT / "results").attempts[0]
    told = {"step": "one line appended, median of 200"}
    for name, file in (("to an empty file", results.parent / "empty.jsonl"), ("to the largest", large)):
        before = file.read_bytes() if file.exists() else b""
        taken = []
        for _ in range(200):
            started = time.perf_counter()
            save(one, file)
            taken.append(time.perf_counter() - started)
        told |= {f"{name}, {len(before)} bytes": f"{sorted(taken)[100] * 1e6:.0f} us"}
        file.write_bytes(before)
    print(json.dumps(told), flush=True)


def step(name: str, command: list[str], **variables: str) -> None:
    started, most_mb = time.perf_counter(), 0.0
    before = os.times()
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | variables, stdout=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            most_mb = max(most_mb, _resident_mb(psutil.Process(process.pid)))
            time.sleep(SECONDS_BETWEEN_LOOKS)
        said = process.stdout.read().strip() if process.stdout else ""
    after = os.times()
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    told = {"step": name, "wall_s": round(time.perf_counter() - started, 1), "cpu_s": round(cpu_s, 1)}
    told |= {"most_mb": round(most_mb), "said": said.splitlines()[-12:], "exit code": process.returncode}
    print(json.dumps(told), flush=True)


def _resident_mb(process: psutil.Process) -> float:
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


if __name__ == "__main__":
    main()
