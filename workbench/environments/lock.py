"""What an interpreter really has: exact versions, the hash of their contents, and its own caches."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .asking import ask
from .holding import deviations
from .installer import BuildError
from .spec import Environment

PROBE = Path(__file__).parents[1] / "worker" / "probe.py"
PROBE_LIMIT_S = 120
MEASURED = (  # what is asked for where nothing says what an interpreter's own packages are
    "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "apache-tvm-ffi", "sglang-kernel",
    "sgl-kernel", "triton-kernels", "triton-kernels-of-sglang-kernel", "sglang", "vllm", "quack-kernels",
)  # fmt: skip
BENEATH = ("torch", "triton", "pytorch-triton", "numpy", "nccl4py")
BENEATH_STARTS = ("nvidia-", "cuda-")
CACHES = {
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TRITON_CACHE_DIR": "triton",
    "CUDA_CACHE_PATH": "cuda",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "extensions",
    "TVM_FFI_CACHE_DIR": "tvm_ffi",
    "CUTE_DSL_CACHE_DIR": "cute_dsl",
}


@dataclass(frozen=True)
class Built:
    """An environment that can be started: `python` with `-I` and `variables` on top of the caller's.

    `packages` and `inherited` are name -> version; `hash` is of the contents of both, not of what was asked.
    """

    environment: Environment
    python: Path
    hash: str
    packages: dict[str, str]
    inherited: dict[str, str]
    python_version: str
    variables: dict[str, str]
    seconds: float
    fingerprint: str = field(default="", repr=False)  # sizes and dates of the files, to see later changes
    stack: str = ""  # the release that it stands for, such as sglang==0.5.12
    pins: dict[str, dict[str, str]] = field(default_factory=dict)  # its pins, and what became of each
    lacks: dict[str, str] = field(default_factory=dict)  # declared by its packages and not there, by name

    def provenance(self) -> dict[str, Any]:
        """What is stored with each result; has no path."""
        facts: dict[str, Any] = {
            "name": self.environment.name,
            "hash": self.hash,
            "python": self.python_version,
            "packages": self.packages,
            "inherited": self.inherited,
        }
        if self.environment.as_of:
            facts["as_of"] = self.environment.as_of
        if self.stack:
            facts |= {"stack": self.stack, "pins": self.pins, "deviations": deviations(self.pins)}
        return facts


def changed(built: Built) -> str:
    """What has happened to it since it was built: "" if nothing. A fraction of a second."""
    try:
        now = describe(
            built.environment, probe(built.python, own=bool(built.environment.requirements)), built.python
        )
    except BuildError as error:
        return f"{built.environment.name} is gone: {error}"
    if now.fingerprint != built.fingerprint:
        return f"the files of {built.environment.name} were changed"
    return "" if now.hash == built.hash else f"what {built.environment.name} inherits was changed"


def probe(python: Path, *, own: bool, verify: bool = False) -> dict[str, Any]:
    """Runs worker/probe.py; `own`: tell own packages from inherited ones; `verify`: read every file."""
    wanted = {
        "own": own, "verify": verify, "measured": MEASURED, "beneath": BENEATH, "starts": BENEATH_STARTS,
    }  # fmt: skip
    answer = ask(python, PROBE, json.dumps(wanted), limit_s=PROBE_LIMIT_S)
    if answer["release"] < [3, 10]:
        raise BuildError(
            f"Python {answer['python']} is too old: FlashInfer and the worker need 3.10 or later"
        )
    return answer


def describe(
    environment: Environment, found: dict[str, Any], python: Path, caches: Path = Path(), seconds: float = 0.0
) -> Built:
    """The probe's answer as a Built; its caches lie in a folder named by the hash, under `caches`."""
    every = found["distributions"]
    mine = [each for each in every if (each["own"] if environment.requirements else each["name"] in MEASURED)]
    lines = [f"{each['name']} {each['version']} {each['contents']}" for each in every]
    digest = _hash([f"python {found['python']}", *lines])
    return Built(
        environment=environment,
        python=python,
        hash=digest,
        packages={each["name"]: each["version"] for each in mine},
        inherited={each["name"]: each["version"] for each in every if each not in mine},
        python_version=found["python"],
        variables=_variables(caches / digest[:12], python, found),
        seconds=seconds,
        fingerprint=_hash([f"{each['name']} {each['files']}" for each in mine]),
    )


def _hash(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _variables(caches: Path, python: Path, found: dict[str, Any]) -> dict[str, str]:
    """Own caches: neither FlashInfer's nor Triton's path says which torch and which CUDA made the files.

    PATH, because FlashInfer calls `ninja` by name.
    """
    places = [str(python.parent), *found["scripts"], os.environ.get("PATH", os.defpath)]
    return {name: str(caches / part) for name, part in CACHES.items()} | {"PATH": os.pathsep.join(places)}
