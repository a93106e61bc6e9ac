"""Results as JSON lines in files: saved, loaded, and checked line by line.

The rule: lines are only ever added, and what is read is never trusted. A line that cannot be used is
reported as a problem and the rest is used.
"""

import contextlib
import errno
import fcntl
import gc
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from workbench import cache
from workbench.cache import Content
from workbench.results import LONGEST_GPU, SCHEMA, Outcome, Result, Results, Trial, is_gpu
from workbench.strict_json import LONGEST_LINE, read_json

LONGEST_TIME = 1e15  # seconds or microseconds: nothing longer was measured, and sums stay floats
MOST_PROBLEMS = 20  # said of one file
MORE = "{} more lines cannot be used"
# Below results/: a user's own runs, what was compiled and not run, and versions in which a fault was planted.
APART = {"local", "compiled", "planted"}


def save(result: Result, file: Path) -> None:
    """Add one line; a write that fails (a full disk) leaves the file as it was. Raises OSError."""
    save_all([result], file)


def save_all(results: Sequence[Result], file: Path) -> None:
    """Add their lines, all or none. Raises OSError with the file's name, ValueError for what is no result."""
    lines = [json.dumps(asdict(result), allow_nan=False).encode() for result in results]
    for line in lines:
        parse(line)  # a line that could not be read back would be a row lost
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: writers take their chance
                fcntl.flock(handle, fcntl.LOCK_EX)  # another run's line must not be cut off with ours
            _append(handle, b"".join(line + b"\n" for line in lines))
        finally:
            os.close(handle)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, str(file)) from problem


def _append(handle: int, data: bytes) -> None:
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":  # a torn last line: keep it apart from ours
        data = b"\n" + data
    try:
        written = 0
        while written < len(data):
            written += os.write(handle, data[written:])
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise


def load(*folders: str | Path) -> Results:
    """All attempts under the folders. Folders of APART below one are left out; name them to have them too.

    A line that is there again, in a copy of its file or in a folder within another, is the same attempt. Attempts may
    share what they have in common: change nothing in them.
    """
    attempts: list[Result] = []
    problems: list[str] = []
    known: dict[tuple[Any, ...], Result] = {}
    with _no_collection():
        for folder in map(Path, folders):
            for file in files(folder, problems):
                content = load_file(file)
                for each in content.attempts:
                    same = known.setdefault(each.known_by, each)
                    if same is each or same != each:
                        attempts.append(each)
                problems += [f"{file.relative_to(folder)}{problem}" for problem in content.problems]
    return Results(tuple(attempts), tuple(problems))


def files(folder: Path, problems: list[str] | None = None) -> list[Path]:
    """Those that `load` reads; folders that cannot be read are added to the problems."""

    def lost(problem: OSError) -> None:
        if problems is not None and problem.errno != errno.ENOENT:
            place = os.path.relpath(problem.filename, folder)
            problems.append(f"{folder if place == '.' else place}: {problem.strerror}")

    found = (
        Path(place, name)
        for place, folders, names in os.walk(folder, onerror=lost)
        for name in (*folders, *names)
        if name.endswith(".jsonl")
    )
    return sorted(file for file in found if not APART.intersection(file.relative_to(folder).parts))


def refused(problems: Iterable[str]) -> int:
    """How many lines the problems of `load` speak of; a file that cannot be read counts as one."""
    counts = (re.search(MORE.format(r"\.jsonl: (\d{1,9})") + "$", problem) for problem in problems)
    return sum(int(found[1]) if found else 1 for found in counts)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing that is loaded is in a circle, and looking for circles in all of it takes longer than loading."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def load_file(file: Path) -> Content:
    """From the cache, or parsed and put there."""
    try:
        if not file.is_file():  # a pipe or a device, which has no end
            raise OSError(0, "not a regular file")
        known = cache.stamp(file)
        return cache.kept(file, known) or cache.keep(file, known, _parsed(file))
    except OSError as problem:
        return Content([], [f": {problem.strerror}"])


def _parsed(file: Path) -> Content:
    attempts: list[Result] = []
    found: list[str] = []
    with file.open("rb") as lines:
        for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 2), b""), start=1):
            _load_line(line, f":{number}", attempts, found)
    more = len(found) - MOST_PROBLEMS
    return Content(attempts, [*found[:MOST_PROBLEMS], *([f": {MORE.format(more)}"] * (more > 0))])


def _load_line(line: bytes, place: str, attempts: list[Result], problems: list[str]) -> None:
    if not line.strip(b"\r\n"):
        return
    try:
        attempts.append(parse(line))
    except (ValueError, TypeError, RecursionError) as problem:
        torn = "" if line.endswith(b"\n") else " (torn: the last line has no end)"
        problems.append(f"{place}: {str(problem)[:200]}{torn}")


def parse(line: bytes) -> Result:
    """A Result from one line. Raises ValueError with what is wrong with it."""
    facts = read_json(line)
    if not isinstance(facts, dict):
        raise ValueError("not an object")
    schema = facts.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise ValueError("no schema number")
    if schema > SCHEMA:
        raise ValueError(f"schema {schema} is newer than this workbench knows ({SCHEMA}); update it")
    known = {each.name for each in fields(Result)}
    facts = {name: value for name, value in facts.items() if name in known}
    _check_kinds(facts)
    try:
        facts["trial"] = Trial(**facts["trial"])
        facts["outcome"] = Outcome(facts["outcome"])
        result = Result(**facts)
    except KeyError as problem:
        raise ValueError(f"no key {problem}") from problem
    _check_values(result)
    return result


KINDS: dict[str, type | tuple[type, ...]] = {
    "run": str, "reason": str, "detail": str, "stage": str, "arm": str, "generation": int, "visit": int,
    "attempt": int, "rerun": str, "stages": dict, "found": dict, "check": dict, "time": dict,
    "forensic": dict, "marks": list,
    "stderr": str, "stdout": str,
    "kernel_hash": str, "inputs_hash": str, "provenance": dict,
}  # fmt: skip


def _check_kinds(facts: Mapping[str, Any]) -> None:
    for name, kind in KINDS.items():
        if name in facts and not isinstance(facts[name], kind):
            raise ValueError(f"{name} is a {type(facts[name]).__name__}")
    if not isinstance(facts.get("provenance", {}).get("environment", {}), dict):
        raise ValueError("provenance.environment is no object")


def _check_values(result: Result) -> None:
    trial = result.trial
    if not isinstance(trial.case, dict) or not all(isinstance(value, str) for value in _names(trial)):
        raise ValueError("trial is not of names and a case")
    if not is_gpu(trial.gpu):
        raise ValueError(
            f"trial.gpu is not 1 to {LONGEST_GPU} printable ASCII characters, as NVML names GPUs: {trial.gpu[:40]!a}"
        )
    if not all(isinstance(mark, str) for mark in result.marks):
        raise ValueError("marks are not all text")
    numbers = [*_samples(result), *result.stages.values()]
    if not all(isinstance(number, int | float) and 0 <= number < LONGEST_TIME for number in numbers):
        raise ValueError("a time is not a finite number, or not one that can be")


def _names(trial: Trial) -> tuple[str, ...]:
    return trial.kernel, trial.mode, trial.environment, trial.gpu


def _samples(result: Result) -> list[float]:
    samples = result.time.get("samples_us", [])
    if not isinstance(samples, list):
        raise ValueError("samples_us is no list")
    return samples
