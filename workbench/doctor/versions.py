"""Rules on packages that must be of one release, or that another one requires."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .fingerprint import Fingerprint
from .skew import NOTE, Skew

if TYPE_CHECKING:
    from packaging.requirements import Requirement

WHY = {
    "apache-tvm-ffi": "compiled modules depend on its exact layout",
    "nvidia-cutlass-dsl": "CuTe-DSL kernels use what older releases do not have",
    "nvidia-cudnn-frontend": "cuDNN graphs use what older releases do not have",
    "triton": "torch calls into this release of Triton and no other is tested with it",
    "torch": "compiled extensions depend on its exact layout",
}
EXACT = ("flashinfer-cubin", "flashinfer-jit-cache")


def public(version: str) -> str:
    """Without the local label: 2.11.0+cu130 is 2.11.0."""
    return version.partition("+")[0]


def parts_of_one_release(found: Fingerprint) -> Iterator[Skew]:
    """FlashInfer, its cubins and its prebuilt modules."""
    main = public(found.version("flashinfer-python"))
    for name in EXACT if main else ():
        other = public(found.version(name))
        if other and other != main:
            stops = "its own check is switched off, so kernels of another release are used silently"
            yield Skew(
                name,
                f"{name} {found.version(name)} beside flashinfer-python {found.version('flashinfer-python')}",
                stops if found.bypassed else "FlashInfer refuses to be imported",
                f"install {name}=={main}, or remove it",
            )
    if found.bypassed:
        yield Skew(
            "version check",
            "FLASHINFER_DISABLE_VERSION_CHECK is set",
            "parts of different releases are not noticed",
            "unset it",
            NOTE,
        )


def requirements(found: Fingerprint) -> Iterator[Skew]:
    """What the installed packages themselves require."""
    for owner, lines in found.facts["requires"].items():
        for each in _in_force(lines, str(found.facts["python"])):
            has = found.version(each.name)
            if not has:
                yield Skew(
                    each.name,
                    f"{owner} requires {each}, which is not installed",
                    WHY.get(each.name, "what needs it fails when it is first used"),
                    f"install '{each}'",
                    NOTE,
                )
            elif not allows(each, has):
                why = WHY.get(each.name, "it was neither built for nor tested with it")
                yield Skew(
                    each.name,
                    f"{each.name} {has}, but {owner} requires {each.specifier}",
                    why,
                    f"install '{each}'",
                )


def allows(requirement: "Requirement", version: str) -> bool:
    """Whether a version is allowed; a local label is no difference unless the requirement names one."""
    from packaging.version import InvalidVersion

    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def installed_twice(found: Fingerprint) -> Iterator[Skew]:
    for name, versions in found.facts["twice"].items():
        yield Skew(
            name,
            f"{name} is recorded {len(versions)} times: {', '.join(versions)}",
            "an update was cut short, and files of both may lie there",
            f"uninstall {name} until it is gone, then install it",
        )
    if found.version("sglang-kernel") and found.version("sgl-kernel"):
        yield Skew(
            "sgl-kernel",
            "sglang-kernel and sgl-kernel are both installed",
            "they are two names of one package and write the same files",
            "uninstall both, install sglang-kernel",
        )


def cutlass_dsl(found: Fingerprint) -> Iterator[Skew]:
    held = found.facts["cutlass_dsl"]
    libs = {name: version for name, version in held["versions"].items() if "-libs" in name}
    main = held["versions"].get("nvidia-cutlass-dsl", "")
    for name, version in libs.items():
        if main and version != main:
            yield Skew(
                name,
                f"{name} {version} under nvidia-cutlass-dsl {main}",
                "its Python and its compiled half are of different releases",
                f"install {name}=={main}",
            )
    if len(libs) > 1:
        last = max(held["present"], key=held["present"].get, default="") if held["present"] else ""
        lies = f"; the files that lie there are those of {last}" if last else ""
        yield Skew(
            "nvidia-cutlass-dsl",
            f"{' and '.join(sorted(libs))} are both installed{lies}",
            "they write the same files: which was installed last decides what works (NVIDIA/cutlass#3170)",
            "reinstall the one for your CUDA last",
            NOTE,
        )
    if main and not libs:
        yield Skew(
            "nvidia-cutlass-dsl",
            f"nvidia-cutlass-dsl {main} without its libs package",
            "it is empty without",
            f"install nvidia-cutlass-dsl-libs-base=={main}",
            NOTE,
        )


def _in_force(lines: list[str], python: str) -> "list[Requirement]":
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    target = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python, "extra": ""}
    found = []
    for line in lines:
        try:
            each = Requirement(line)
        except InvalidRequirement:
            continue
        if each.marker is None or each.marker.evaluate(target):
            each.name = canonicalize_name(each.name)
            found.append(each)
    return found
