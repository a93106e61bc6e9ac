"""Runs a repro file in an environment made anew, and says what came of it. Never says that of a file it did not run."""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workbench import environments, gpus, locks
from workbench.environments import BuildError, Built, Environment
from workbench.forensics import ABSENT
from workbench.forensics.coredump import tool
from workbench.repro import recipe
from workbench.results import SANITIZED, Result, device
from workbench.untrusted import part, plain

REPRODUCED, NOT_REPRODUCED, NOT_TRIED = "reproduced", "not reproduced", "not tried"
SEEN = re.compile(r"^reproduced: ")
FINDING = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: [1-9]")  # of compute-sanitizer
SHOWN = 300


@dataclass(frozen=True)
class Tried:
    """`state` is one of the three; `text` says how and where, or why not."""

    state: str
    text: str

    def __str__(self) -> str:
        return f"{self.state}: {self.text}"


@dataclass(frozen=True)
class Place:
    """Where a file is tried: the environment's folder of wheels, the card, and how long it may take."""

    environment: Environment
    wheels: Path | None = None
    gpu_index: int = 0
    limit_s: float = 900.0
    say: Callable[[str], None] = lambda text: None


def attempt(result: Result, text: str, name: str, place: Place) -> Tried:
    """Build, run, look at the exit code. What cannot be tried says why."""
    gpu = gpus.here(place.gpu_index)
    if why := why_not(result, gpu):
        return Tried(NOT_TRIED, why)
    environments.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=environments.FOLDER.absolute(), prefix=".repro-") as folder:
        try:
            built = environments.build(
                place.environment,
                folder=Path(folder) / "environments",
                wheels=place.wheels,
                progress=place.say,
            )
        except (BuildError, OSError) as problem:
            return Tried(NOT_TRIED, f"the environment cannot be built: {problem}")
        file = Path(folder) / name
        file.write_text(text, encoding="utf-8")
        with locks.hold(f"gpu-{gpu.uuid_hash}", say=place.say) if gpu else contextlib.nullcontext():
            place.say(f"running {name}")
            return _run(_command(result, built, file), _variables(result, built, gpu), result, built, place)


def why_not(result: Result, gpu: gpus.Gpu | None) -> str:
    """What is missing here to try it; empty where nothing is."""
    if device(result.trial.gpu) == "cpu":
        return ""
    family = gpus.family(str(part(result.provenance, "gpu", "sm") or ""))
    if gpu is None or (gpu.name != result.trial.gpu and gpu.family != family):
        return f"no GPU of the family {family} here" if family != "unknown" else "no such GPU here"
    if any("built ahead" in mark for mark in result.marks):
        return "it needs a module that was built ahead, which a file cannot bring"
    return ABSENT if result.trial.mode in SANITIZED and tool("compute-sanitizer") is None else ""


def _command(result: Result, built: Built, file: Path) -> list[str]:
    plain = [str(built.python), "-I", str(file)]
    if result.trial.mode not in SANITIZED:
        return plain
    return [str(tool("compute-sanitizer")), *recipe.sanitizer_options(result), *plain]


def _variables(result: Result, built: Built, gpu: gpus.Gpu | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    chosen = {"CUDA_VISIBLE_DEVICES": gpu.uuid} if gpu else {}
    more = recipe.SANITIZER_VARIABLES if result.trial.mode in SANITIZED else {}
    return {**kept, **chosen, **built.variables, **more}


def _run(
    command: Sequence[str], variables: Mapping[str, str], result: Result, built: Built, place: Place
) -> Tried:
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            command, env=dict(variables), stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = child.wait(place.limit_s)
        except subprocess.TimeoutExpired:
            return Tried(NOT_TRIED, f"not done after {place.limit_s:g} s, ended by us; --limit gives it more")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        said.seek(max(0, said.seek(0, os.SEEK_END) - 20_000))
        return _judged(code, said.read().decode("utf-8", "replace"), result, built)


def _judged(code: int, said: str, result: Result, built: Built) -> Tried:
    """The exit code counts only with the words for it: Python itself ends with 1 after many a mishap."""
    where = f"{datetime.now(UTC):%Y-%m-%d}, {_contents(result, built)}"
    lines = [line for line in said.splitlines() if line.strip()] or ["it said nothing"]
    pattern = FINDING if result.trial.mode in SANITIZED else SEEN
    seen = next((line for line in reversed(lines) if pattern.search(line)), "")
    if code == 1 and seen:
        return Tried(REPRODUCED, f"{where}; {plain(seen.removeprefix('reproduced: '), SHOWN)}")
    if code == 0:
        return Tried(NOT_REPRODUCED, where)
    return Tried(NOT_REPRODUCED, f"{where}; exit code {code}: {plain(lines[-1], SHOWN)}")


def _contents(result: Result, built: Built) -> str:
    same = built.hash == result.environment_hash
    return f"in {'the same' if same else 'another'} environment, made anew ({built.hash[:12]})"
