"""Asks an interpreter for the facts; nothing of ours is installed there and none of its packages is imported."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.environments.asking import ask

PROBE = Path(__file__).parents[1] / "worker" / "fingerprint.py"
LIMIT_S = 60
ASKED = ("flashinfer-python", "torch", "sglang-kernel", "sgl-kernel", "quack-kernels", "sglang", "vllm")
SHOWN = (
    "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "apache-tvm-ffi", "nvidia-cutlass-dsl",
    "nvidia-cudnn-frontend", "torch", "triton", "quack-kernels", "sglang-kernel", "sgl-kernel", "sglang", "vllm",
)  # fmt: skip


@dataclass(frozen=True)
class Fingerprint:
    """What was found; see worker/fingerprint.py for the facts."""

    facts: Mapping[str, Any]

    @property
    def packages(self) -> dict[str, str]:
        return dict(self.facts["packages"])

    def version(self, name: str) -> str:
        return str(self.facts["packages"].get(name, ""))

    @property
    def bypassed(self) -> bool:
        """FlashInfer's own check of versions is switched off."""
        return bool(self.facts["variables"].get("FLASHINFER_DISABLE_VERSION_CHECK"))

    @property
    def triton_kernels(self) -> str:
        """In words, by its contents."""
        held = self.facts["triton_kernels"]
        if not held:
            return "not there"
        if held["matmul"]:
            era = "of Triton 3.8" if held["microblock"] else "of Triton 3.7"
            shape = "matmul"
        elif held["matmul_ogs"]:
            era = "of Triton 3.5" if held["routing"] else "of Triton 3.6"
            shape = "matmul_ogs with routing" if held["routing"] else "matmul_ogs"
        else:
            return f"unknown contents ({held['files']} files, {held['hash']})"
        return f"{shape}, {era} ({held['hash']})"

    def summary(self) -> dict[str, str]:
        """What a page shows: name -> value."""
        rows = {name: self.version(name) or "-" for name in SHOWN}
        rows |= {"triton_kernels": self.triton_kernels, "Python": str(self.facts["python"])}
        rows |= {
            "CUDA of torch": self.facts["torch_cuda"] or "none",
            "driver": self.facts["driver"] or "none",
        }
        rows["nvcc"] = self.facts["nvcc"].get("version") or "none"
        libs = {
            name: version
            for name, version in self.facts["cutlass_dsl"]["versions"].items()
            if "-libs" in name
        }
        rows["cutlass-dsl variants"] = (
            ", ".join(f"{name} {version}" for name, version in sorted(libs.items())) or "-"
        )
        rows["version check"] = "bypassed" if self.bypassed else "on"
        return rows | {
            name: value for name, value in self.facts["variables"].items() if name.startswith("FLASHINFER_")
        }


def take(python: Path, variables: Mapping[str, str] | None = None, folder: Path | None = None) -> Fingerprint:
    """Of an interpreter as it would be started with `variables` in `folder` (default: as here). Raises BuildError."""
    known = {**os.environ, **(variables or {})}
    folders = [str(folder or Path.cwd()), *filter(None, known.get("PYTHONPATH", "").split(os.pathsep))]
    request = {"folders": folders, "variables": known, "requires": ASKED}
    return Fingerprint(ask(python, PROBE, json.dumps(request), limit_s=LIMIT_S))
