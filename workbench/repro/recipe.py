"""The commands that make a trial's environment and run its file, from what was stored of it. Pure.

The rule: a stored name or version that is not plainly one never reaches a command.
"""

import re
import shlex
from typing import Any

from workbench.environments.requirement import CARRIED, COMPONENT, DONOR
from workbench.forensics import PADDING
from workbench.results import SANITIZED, Result
from workbench.untrusted import part

BENEATH = ("torch", "triton", "numpy")  # of what was inherited, what a kernel computes with
SANITIZER_VARIABLES = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


def environment(result: Result) -> list[str]:
    """Shell commands, in order."""
    packages, python = _pins(result), f"python{_release(result)}"
    carried = packages.pop(CARRIED, "")
    made = [f"{python} -m venv env", ". env/bin/activate"]
    if packages:
        pins = [shlex.quote(f"{name}=={version}") for name, version in packages.items()]
        made.append(f"pip install {' '.join(pins)}")
    return [*made, *(_carried(carried, python) if carried else [])]


def running(result: Result, file: str) -> str:
    if result.trial.mode not in SANITIZED:
        return f"python {file}"
    variables = [f"{name}={value}" for name, value in SANITIZER_VARIABLES.items()]
    return " ".join([*variables, "compute-sanitizer", *sanitizer_options(result), "python", file])


def sanitizer_options(result: Result) -> list[str]:
    """As the trial was run: the same tool, and bytes of nobody's behind each allocation."""
    tool = SANITIZED[result.trial.mode]
    memcheck = ["--report-api-errors", "no", "--padding", str(PADDING)] if tool == "memcheck" else []
    return ["--tool", tool, "--error-exitcode", "1", *memcheck]


def versions(result: Result) -> dict[str, str]:
    """What it ran on: packages, Python, GPU, driver, and CUDA as torch brings it."""
    known, gpu = result.provenance.get("environment", {}), result.provenance.get("gpu", {})
    inherited = _dict(known.get("inherited"))
    cuda = {"CUDA runtime": inherited.get("nvidia-cuda-runtime")}
    facts = {name: _dict(gpu).get(name) for name in ("driver", "sm")}
    found = {**_pins(result), "Python": known.get("python"), **cuda, "GPU": result.trial.gpu, **facts}
    return {name: str(value) for name, value in found.items() if value}


def _pins(result: Result) -> dict[str, str]:
    known = result.provenance.get("environment", {})
    own, inherited = _dict(known.get("packages")), _dict(known.get("inherited"))
    beneath = {name: inherited[name] for name in BENEATH if name in inherited}
    return {name: _public(version) for name, version in {**own, **beneath}.items() if _is_pin(name, version)}


def _is_pin(name: object, version: object) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        Version(str(version))
    except InvalidVersion:
        return False
    return re.fullmatch(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,100}[A-Za-z0-9])?", str(name)) is not None


def _public(version: object) -> str:
    """Without `+cu130`, which an index does not have under the plain name."""
    from packaging.version import Version

    return Version(str(version)).public


def _release(result: Result) -> str:
    said = re.match(r"3\.\d{1,2}(?=\.|$)", str(part(result.provenance, "environment", "python")))
    return said[0] if said else "3"


def _carried(version: str, python: str) -> list[str]:
    """The folder of that name inside the donor's wheel; the project of that name on the index is another one."""
    stem = DONOR.replace("-", "_")
    return [
        f"pip download --no-deps --dest wheels {DONOR}=={version}",
        f"python -m zipfile -e wheels/{stem}-{version}-*.whl unpacked",
        f"cp -r unpacked/{COMPONENT} env/lib/{python}*/site-packages/",
    ]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
