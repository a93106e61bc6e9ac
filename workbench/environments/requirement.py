"""One word of a spec: a requirement, a wheel, a component, or a release that stands for its pins."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement

SHORT = {"flashinfer": "flashinfer-python"}  # what people write -> the distribution's name
SHOWN = {distribution: short for short, distribution in SHORT.items()}
COMPONENT = "triton_kernels"
CARRIED = "triton-kernels-of-sglang-kernel"  # what it is called when repacked
DONOR = "sglang-kernel"  # its wheel carries it; the index's own triton-kernels is another package
STACKS = ("sglang", "vllm")  # a release of one means the kernel-related pins that it declares
EXAMPLES = (
    "flashinfer==0.6.11.post1, "
    f"'flashinfer==0.6.8.post1 {COMPONENT}@{DONOR}==0.4.2.post1', "
    "sglang==0.5.12, ./dist/flashinfer_python-0.6.12-py3-none-any.whl, here"
)


def component_version(requirement: str) -> str | None:
    """The donor's version where `requirement` is the component, else None."""
    start = f"{COMPONENT}@{DONOR}=="
    return requirement.removeprefix(start) if requirement.startswith(start) else None


def is_bare(word: str) -> bool:
    """Whether it is a package's name alone, and not that of a stack."""
    return re.fullmatch(r"[\w.-]+(\[[\w.,-]*\])?", word) is not None and not is_stack(word)


def distribution_of(requirement: str) -> str:
    """The name of what it installs."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name, parse_wheel_filename

    if component_version(requirement):
        return CARRIED
    if requirement.endswith(".whl") and requirement.startswith("/"):
        return parse_wheel_filename(Path(requirement).name)[0]
    return canonicalize_name(Requirement(requirement).name)


def is_stack(word: str) -> bool:
    """Whether it names a release whose pins are meant, rather than a package, a wheel or an address."""
    return re.match(rf"(?i)({'|'.join(STACKS)})\s*(\[|[=<>!~]|$)", word) is not None


def read_word(word: str, loose: bool) -> tuple[str, str, str]:
    """-> distribution, what is shown, the requirement."""
    if word == "here":
        raise bad("'here' is the interpreter as it is and stands alone")
    if word.endswith(".whl") and "://" not in word:
        return _wheel(Path(word).expanduser())
    if re.match(rf"{COMPONENT}|triton-kernels", word):
        return _component(word)
    return _plain(word, loose)


def _wheel(path: Path) -> tuple[str, str, str]:
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    if not path.is_file():
        raise bad(f"there is no wheel {path.name!r} in {path.parent}")
    try:
        name, version, _, _ = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise bad(f"{path.name!r} is not a wheel's file name") from error
    return name, f"{SHOWN.get(name, name)} {version} (wheel)", os.path.abspath(path)  # noqa: PTH100 - links stay


def _component(word: str) -> tuple[str, str, str]:
    from packaging.version import InvalidVersion, Version

    found = re.fullmatch(rf"{COMPONENT}@sglang[-_.]kernel==([^\s=]+)", word)
    try:
        version = Version(found[1]) if found else None
    except InvalidVersion:
        version = None
    if version is None:
        raise bad(f"{word!r}: {COMPONENT} is taken from a {DONOR} wheel: {COMPONENT}@{DONOR}==0.4.2.post1")
    return COMPONENT, f"{COMPONENT} {version}", f"{COMPONENT}@{DONOR}=={version}"


def _plain(word: str, loose: bool) -> tuple[str, str, str]:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        requirement = Requirement(word)
    except InvalidRequirement as error:
        fix = re.sub(r"(?<![=<>~!])=(?!=)", "==", word)
        hint = f"; did you mean {fix}?" if fix != word else ""
        raise bad(f"{word!r} is not a requirement{hint}") from error
    if re.match(r"v?\d+\.", word):
        raise bad(f"{word!r} names no package; did you mean flashinfer=={word.removeprefix('v')}?")
    if requirement.marker:
        raise bad(f"{word!r} has a marker; leave it out")
    requirement.name = SHORT.get(canonicalize_name(requirement.name), canonicalize_name(requirement.name))
    shown = SHOWN.get(requirement.name, requirement.name)
    if requirement.url:
        return (
            requirement.name,
            f"{shown} of {re.split('[?#]', requirement.url)[0].rsplit('/', 1)[-1]}",
            str(requirement),
        )
    pin = exact(requirement)
    if pin is None and not loose:
        raise bad(f"{word!r} is no exact version; pin it: {shown}==X")
    return requirement.name, f"{shown} {pin}" if pin else f"{shown}{requirement.specifier}", str(requirement)


def exact(requirement: "Requirement") -> str | None:
    """The one version that it allows, None if it may be several."""
    pins = [each for each in requirement.specifier if each.operator in ("==", "===")]
    single = len(requirement.specifier) == 1 and pins and not pins[0].version.endswith("*")
    return pins[0].version if single else None


def bad(what: str) -> ValueError:
    """The error for a spec that cannot be used, with examples of ones that can."""
    return ValueError(
        f"{what}{'' if what.endswith('?') else '.'} Environments are written like this: {EXAMPLES}"
    )
