"""The CUDA toolkit that compiles: where it lies and which version it is, as nvcc itself says."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LIMIT_S = 60


@dataclass(frozen=True)
class Toolkit:
    """`version` is nvcc's, such as 13.0.88. `home` has bin, include and lib64."""

    home: Path
    version: str

    @property
    def major(self) -> str:
        return self.version.partition(".")[0]

    @property
    def release(self) -> str:
        return ".".join(self.version.split(".")[:2])


def find(nvcc: str | None = None) -> Toolkit:
    """Raises ValueError where there is no nvcc that answers."""
    program = nvcc or shutil.which("nvcc")
    if program is None:
        raise ValueError(
            "nvcc is not on the PATH: a module is compiled with the CUDA toolkit, no GPU is needed"
        )
    home = re.search(r"_HERE_=(.+)", _said(program, "--dryrun", "-x", "cu", "/dev/null"))
    version = re.search(r"\bV(\d+\.\d+\.\d+)", _said(program, "--version"))
    if home is None or version is None:
        raise ValueError(f"{program} does not say where its toolkit is and which version it has")
    return Toolkit(Path(home[1].strip()).parent, version[1])


def _said(*command: str) -> str:
    """nvcc on the PATH may be a script that starts another, so its place says nothing."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ValueError(f"{command[0]} cannot be asked: {type(problem).__name__}") from problem
    return (done.stdout + done.stderr).decode("utf-8", "replace")
