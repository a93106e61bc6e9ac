"""uv: calls it, and says in one line why it could not do it."""

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from workbench.files import FULL

LOG_CHARACTERS = 20_000
LIMIT_S = 1800
NO_PLACE = (*FULL, errno.EROFS)  # nothing more can be written
# These would send uv to another Python or another folder than the one named.
UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_PYTHON", "UV_SYSTEM_PYTHON")


class BuildError(Exception):
    """Why an environment could not be built, in one line; `log` is all that was said, capped."""

    def __init__(self, line: str, log: str = "") -> None:
        super().__init__(line)
        self.log = log[-LOG_CHARACTERS:]


def make_venv(folder: Path, python: Path) -> Path:
    """An empty virtual environment that may be renamed afterwards; its interpreter."""
    # Relocatable: else the programs in bin/ would name the folder that it is built in.
    run_uv("venv", "--no-project", "--relocatable", "--python", str(python), str(folder))
    return folder / "bin" / "python"


def install(python: Path, requirements: list[str], wheels: Path | None, *options: str) -> None:
    """Installs `requirements` for `python`; with `wheels`, from that folder alone and without a network."""
    # Refresh: uv would take a wheel that was replaced by another of the same name from its cache.
    where = ["--no-index", "--refresh", "--find-links", str(wheels)] if wheels else []
    run_uv(
        "pip", "install", "--python", str(python), *where, *options, "--", *requirements, offline=bool(wheels)
    )


def run_uv(*arguments: str, offline: bool = False) -> None:
    """Calls uv. Raises BuildError with the reason in one line; OSError where the disk takes nothing more."""
    variables = {name: value for name, value in os.environ.items() if name not in UNWANTED}
    if offline:  # --no-index says it, and uv takes no --refresh beside the variable
        variables.pop("UV_OFFLINE", None)
    variables |= {"UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            [_find_uv(), *arguments],
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"uv was not done after {LIMIT_S} s") from error
    said = (done.stdout + done.stderr).decode("utf-8", "replace")
    if done.returncode:
        numbers = map(int, re.findall(r"\(os error (\d{1,4})\)", said))
        if full := next((each for each in numbers if each in NO_PLACE), 0):
            raise OSError(full, os.strerror(full))
        log = redact(said, [str(Path(each).parent) for each in arguments if each.startswith(os.sep)])
        raise BuildError(decisive(log, offline) or f"uv ended with status {done.returncode}", log)


def _find_uv() -> str:
    import uv

    try:
        return os.fsdecode(uv.find_uv_bin())
    except FileNotFoundError:
        if found := shutil.which("uv"):
            return found
        raise BuildError("uv is not there; install it beside the workbench: pip install uv") from None


def decisive(log: str, offline: bool = False) -> str:
    """The sentence of uv's report that says why. uv has had two layouts: a drawn tree, and `cause:` lines."""
    parts: list[str] = []
    for line in re.sub(r"\x1b\[[0-9;]*m", "", log).splitlines():
        new = re.match(r"\s*(?:error:|cause:|hint:|×|╰─▶|├─▶|Caused by:)\s+", line)
        if new:
            parts.append(line[new.end() :].strip())
        elif parts and line.startswith(" ") and line.strip():
            parts[-1] += " " + line.strip(" │")
    if not parts:
        return (log.strip().splitlines() or [""])[-1][:400]
    because = [part for part in parts if "we can conclude" in part]
    if because:
        return _shorter(because[0], offline)[:400]
    if any(re.search(r"Failed to fetch|error sending request|dns error", part) for part in parts):
        return f"the package index cannot be reached: {parts[-1]}"[:400]
    return ": ".join(parts[:3])[:400]


def _shorter(sentence: str, offline: bool) -> str:
    """'Because there is no version of X and you require X, we can conclude ...' in fewer words."""
    simple = re.fullmatch(
        r"Because (.+) and you require [^,]+, we can conclude that your requirements are .*", sentence
    )
    if not simple or " we can conclude " in simple[1]:
        return sentence
    place = "in the folder of wheels" if offline else "in the package index"
    said = re.sub(r"(?<=was not found) in the (package registry|provided package locations)$", "", simple[1])
    nowhere = said.startswith("there is no version of ") or said.endswith(" was not found")
    return f"{said} {place}" if nowhere else said


def redact(text: str, folders: Iterable[str] = ()) -> str:
    """Without addresses of registries and without folders, which hold user and machine names."""
    text = re.sub(r"[a-z+]+://[^\s`'\")]*?([^/\s`'\")]*)/?(?=[\s`'\")]|$)", r"\1", text)
    known = {*folders, str(Path.cwd()), tempfile.gettempdir(), str(Path.home())} - {os.sep}
    for folder in sorted(known, key=len, reverse=True):
        text = text.replace(folder + os.sep, "")
    return re.sub(r"(?<![\w.~])/(?:[^/\s`'\":]+/)+(?=[^/\s`'\"])", "", text)
