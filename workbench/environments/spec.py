"""What a user writes to name an environment, and what it means. No process, no network."""

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

SHORT = {"flashinfer": "flashinfer-python"}  # what people write -> the distribution's name
SHOWN = {distribution: short for short, distribution in SHORT.items()}
COMPONENT = "triton_kernels"
DONOR = "sglang-kernel"  # its wheel carries it; the index's own triton-kernels is another package
EXAMPLES = (
    "flashinfer==0.6.11.post1, "
    f"'flashinfer==0.6.8.post1 {COMPONENT}@{DONOR}==0.4.2.post1', "
    "./dist/flashinfer_python-0.6.12-py3-none-any.whl, here"
)


@dataclass(frozen=True)
class Environment:
    """What is asked for. `python` alone is used as it is; with requirements, they inherit from it.

    A requirement is a pinned PEP 508 one, a wheel's path, or `triton_kernels@sglang-kernel==X`.
    """

    name: str
    requirements: tuple[str, ...] = ()
    python: str | None = None


def parse(spec: str, python: str | None = None) -> Environment:
    """The environment that `spec` names: requirements apart by blanks (quote a path with some), or `here`.

    Raises ValueError, which says how to write it.
    """
    try:
        words = shlex.split(spec)
    except ValueError as error:
        raise _bad(f"{spec!r} has an open quote") from error
    if len(words) == 1 and words[0] != "here" and python is None and _is_interpreter(words[0]):
        words, python = [], words[0]
    if python is not None:
        python = _interpreter(python)
    if words in ([], ["here"]):
        if not words and python is None:
            raise _bad("no environment is named")
        return Environment(_name_of(python) if python else "here", (), python)
    read = [_requirement(word) for word in words]
    names = [key for key, _, _ in read]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise _bad(f"{twice[0]} is named twice")
    return Environment(" + ".join(shown for _, shown, _ in read), tuple(text for _, _, text in read), python)


def component_version(requirement: str) -> str | None:
    """The donor's version where `requirement` is the component, else None."""
    start = f"{COMPONENT}@{DONOR}=="
    return requirement.removeprefix(start) if requirement.startswith(start) else None


def wheel_paths(environment: Environment) -> list[Path]:
    """The wheels that are asked for by their path."""
    return [Path(each) for each in environment.requirements if each.endswith(".whl") and each.startswith("/")]


def _requirement(word: str) -> tuple[str, str, str]:
    """-> distribution, what is shown, the requirement."""
    if word == "here":
        raise _bad("'here' is the interpreter as it is and stands alone")
    if word.endswith(".whl") and "://" not in word:
        return _wheel(Path(word).expanduser())
    if re.match(rf"{COMPONENT}|triton-kernels", word):
        return _component(word)
    return _pinned(word)


def _wheel(path: Path) -> tuple[str, str, str]:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if not path.is_file():
        raise _bad(f"there is no wheel {path.name!r} in {path.parent}")
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise _bad(f"{path.name!r} is not a wheel's file name") from error
    return name, f"{SHOWN.get(name, name)} {version} (wheel)", os.path.abspath(path)  # noqa: PTH100 - links stay


def _component(word: str) -> tuple[str, str, str]:
    from packaging.version import InvalidVersion, Version

    found = re.fullmatch(rf"{COMPONENT}@sglang[-_.]kernel==([^\s=]+)", word)
    try:
        version = Version(found[1]) if found else None
    except InvalidVersion:
        version = None
    if version is None:
        raise _bad(f"{word!r}: {COMPONENT} is taken from a {DONOR} wheel: {COMPONENT}@{DONOR}==0.4.2.post1")
    return COMPONENT, f"{COMPONENT} {version}", f"{COMPONENT}@{DONOR}=={version}"


def _pinned(word: str) -> tuple[str, str, str]:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        requirement = Requirement(word)
    except InvalidRequirement as error:
        fix = re.sub(r"(?<![=<>~!])=(?!=)", "==", word)
        hint = f"; did you mean {fix}?" if fix != word else ""
        raise _bad(f"{word!r} is not a requirement{hint}") from error
    if re.match(r"v?\d+\.", word):
        raise _bad(f"{word!r} names no package; did you mean flashinfer=={word.removeprefix('v')}?")
    if requirement.marker:
        raise _bad(f"{word!r} has a marker; leave it out")
    requirement.name = SHORT.get(canonicalize_name(requirement.name), canonicalize_name(requirement.name))
    shown = SHOWN.get(requirement.name, requirement.name)
    if requirement.url:
        return (
            requirement.name,
            f"{shown} of {re.split('[?#]', requirement.url)[0].rsplit('/', 1)[-1]}",
            str(requirement),
        )
    pins = [each for each in requirement.specifier if each.operator in ("==", "===")]
    if len(requirement.specifier) != 1 or not pins or pins[0].version.endswith("*"):
        raise _bad(f"{word!r} is no exact version; pin it: {shown}==X")
    return requirement.name, f"{shown} {pins[0].version}", str(requirement)


def _is_interpreter(word: str) -> bool:
    return os.sep in word and not word.endswith(".whl") and "://" not in word and "@" not in Path(word).name


def _interpreter(python: str) -> str:
    """The interpreter's path, links kept: a virtual environment is told by where its link lies."""
    path = Path(shutil.which(python) or python).expanduser()
    if path.is_dir():  # a virtual environment's folder
        path = path / "bin" / "python"
    if not os.access(path, os.X_OK) or path.is_dir():
        raise _bad(f"there is no interpreter {python!r}; give its path, such as ../checkout/.venv/bin/python")
    return os.path.abspath(path)  # noqa: PTH100


def _name_of(python: str) -> str:
    """A name without the path, which may hold a user's."""
    folder = Path(python).parent
    if folder.name == "bin":
        folder = folder.parent
    if folder.name.lstrip(".") in ("venv", "env", "virtualenv"):
        folder = folder.parent
    return f"python of {'home' if folder.name == Path.home().name else folder.name or 'the system'}"


def _bad(what: str) -> ValueError:
    return ValueError(f"{what}. Environments are written like this: {EXAMPLES}")
