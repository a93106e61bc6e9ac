"""What the package index says: what a release declares, which versions there are, and which was the newest on a day.

The rule: only through uv and pip, so that whatever index, proxy or mirror they are set up with is used.
"""

import json
import platform
import tempfile
from datetime import date, timedelta
from pathlib import Path

from .installer import BuildError, run_uv

PIP = "pip>=23.3"  # the first that leaves the wheel where it is when only its metadata is wanted
GLIBC = range(39, 16, -1)  # wheels for Linux with any of these, wherever this runs
WHEELS_ALONE = ("--only-binary", ":all:")
BELOW_ALL = "<0.dev0"  # what no version can be: pip then says which there are


def declared(release: str, python: str) -> list[str]:
    """The requirements in the metadata of an exact `release`, of its wheel for Linux and Python `python`.

    Some kilobytes, though vLLM's wheel has hundreds of megabytes. Raises BuildError.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        _pip(
            "install", "--dry-run", "--ignore-installed", "--use-feature=fast-deps", "--report", str(report),
            *_for_linux(python), "--", release,
        )  # fmt: skip
        try:
            found = json.loads(report.read_text(encoding="utf-8"))["install"][0]["metadata"]
            return [str(each) for each in found.get("requires_dist", [])]
        except (ValueError, LookupError, AttributeError, TypeError, OSError) as error:
            raise BuildError(f"pip does not say what {release} requires") from error


def newest(requirement: str, as_of: str, python: Path) -> str:
    """The newest version at the end of that day (UTC), as `name==version`; of this requirement alone."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder) / "asked.in", Path(folder) / "answer.txt"
        asked.write_text(requirement + "\n", encoding="utf-8")
        plain = ["--quiet", "--no-header", "--no-annotate", "--no-deps", "--output-file", str(answer)]
        run_uv("pip", "compile", "--python", str(python), *plain, *until(as_of), str(asked))
        found = [line for line in answer.read_text(encoding="utf-8").splitlines() if "==" in line]
    if len(found) != 1:
        raise BuildError(f"uv does not say what {requirement} was on {as_of}")
    return found[0].strip()


def versions(name: str, python: str, wheels_alone: bool) -> str:
    """What pip says of all versions of `name`, those that were yanked and those for another Python among them.

    `wheels_alone`: only of those with a wheel for Linux and Python `python`. Raises BuildError.
    """
    options = _for_linux(python) if wheels_alone else _for_linux(python)[len(WHEELS_ALONE) :]
    try:
        _pip("install", "--dry-run", "--ignore-installed", *options, "--", f"{name}{BELOW_ALL}")
    except BuildError as error:
        if "(from versions: " in error.log and not (
            "(from versions: none)" in error.log and not wheels_alone
        ):
            return error.log
        raise BuildError(str(error).replace(BELOW_ALL, ""), error.log) from None
    raise BuildError(f"pip does not say which versions of {name} there are")


def until(as_of: str) -> list[str]:
    """uv's option for it; with a time of day, since uv takes a bare day in the machine's time zone."""
    if not as_of:
        return []
    return ["--exclude-newer", f"{date.fromisoformat(as_of) + timedelta(days=1)}T00:00:00Z"]


def fetch(requirements: list[str], folder: Path, python: str) -> None:
    """Puts their wheels, for Linux and Python `python`, into `folder`. Raises BuildError."""
    _pip("download", "--dest", str(folder), *_for_linux(python), "--", *requirements)


def _pip(command: str, *arguments: str) -> None:
    try:
        run_uv("tool", "run", "--from", PIP, "pip", command, "--quiet", "--no-deps", *arguments)
    except BuildError as error:
        if "No matching distribution" not in error.log:
            raise
        asked = ", ".join(arguments[arguments.index("--") + 1 :])
        if "(from versions: none)" in error.log:
            raise BuildError(
                f"the package index has no {asked} for this Python, or cannot be reached", error.log
            ) from None
        raise BuildError(f"there is no version of {asked} in the package index", error.log) from None


def _for_linux(python: str) -> list[str]:
    machine = "aarch64" if platform.machine().lower() in ("aarch64", "arm64") else "x86_64"
    kinds = [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]
    release = ".".join(python.split(".")[:2])
    chosen = [option for kind in kinds for option in ("--platform", kind)]
    return [*WHEELS_ALONE, "--python-version", release, *chosen]
