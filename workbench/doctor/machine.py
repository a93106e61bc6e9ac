"""Rules on what lies around the packages: compiler, driver, caches, server, working folder, Triton's kernels."""

from collections.abc import Iterator

from .fingerprint import Fingerprint
from .skew import NOTE, Skew
from .versions import public

DRIVERS = {13: 580, 12: 525}  # the first branch of the driver that runs CUDA of that major number
FP4 = (12, 8)  # the first CUDA with FP4


def compiler(found: Fingerprint) -> Iterator[Skew]:
    nvcc, cuda = found.facts["nvcc"], str(found.facts["torch_cuda"])
    if not nvcc:
        if not found.version("flashinfer-jit-cache") and found.version("flashinfer-python"):
            yield Skew(
                "nvcc",
                "no nvcc, and no flashinfer-jit-cache",
                "kernels that are compiled on first use cannot be",
                "install a CUDA toolkit and set CUDA_HOME, or install flashinfer-jit-cache",
                NOTE,
            )
        return
    version = nvcc["version"]
    if cuda and version and version.split(".")[0] != cuda.split(".")[0]:
        yield Skew(
            "nvcc",
            f"nvcc {version} beside a torch for CUDA {cuda}",
            "modules are compiled against another runtime than they are loaded beside",
            f"set CUDA_HOME to a toolkit of CUDA {cuda}",
        )
    if _numbers(version) and _numbers(version) < FP4:
        yield Skew(
            "nvcc",
            f"nvcc {version}",
            "before 12.8 FP4 is left out of modules without a word (flashinfer-ai/flashinfer#3951)",
            "a toolkit of CUDA 12.8 or newer",
        )


def driver(found: Fingerprint) -> Iterator[Skew]:
    cuda, branch = _numbers(str(found.facts["torch_cuda"])), _numbers(str(found.facts["driver"]))
    least = DRIVERS.get(cuda[0]) if cuda else None
    if least and branch and branch[0] < least:
        yield Skew(
            "driver",
            f"driver {found.facts['driver']} with a torch for CUDA {found.facts['torch_cuda']}",
            "the driver is too old to run it",
            f"driver {least} or newer, or a torch for an older CUDA",
        )


def caches(found: Fingerprint) -> Iterator[Skew]:
    held = found.facts["cache"]
    if not found.version("flashinfer-python"):
        return
    if not held["writable"]:
        yield Skew(
            "cache",
            f"{held['path']} cannot be written",
            "nothing can be compiled, and FlashInfer fails when it is imported",
            "set FLASHINFER_WORKSPACE_BASE to a folder of your own",
        )
    elif held["others"]:
        yield Skew(
            "cache",
            f"{held['path']} can be written by everyone",
            "modules that others put there are loaded and run",
            "set FLASHINFER_WORKSPACE_BASE to a folder of your own",
        )
    elif not held["own"]:
        yield Skew(
            "cache",
            f"{held['path']} is shared by all environments",
            "its path names FlashInfer's version and the GPU, but neither torch nor CUDA",
            "set FLASHINFER_WORKSPACE_BASE for each environment",
            NOTE,
        )


def artifacts(found: Fingerprint) -> Iterator[Skew]:
    held = found.facts["artifacts"]
    if found.version("flashinfer-python") and not held["installed"] and held["reachable"] is False:
        main = public(found.version("flashinfer-python"))
        left = "; what was fetched before is there" if held["fetched"] else ""
        yield Skew(
            "artifacts",
            f"no flashinfer-cubin, and the vendor's artifact server cannot be reached ({held['text']}){left}",
            "trtllm-gen attention and MoE (SM100 and SM103) fetch their kernels from it",
            f"install flashinfer-cubin=={main}, or set FLASHINFER_CUBINS_REPOSITORY",
            NOTE,
        )


def shadows(found: Fingerprint) -> Iterator[Skew]:
    for each in found.facts["shadows"]:
        yield Skew(
            each["name"],
            f"{each['folder']} holds a {each['name']}",
            "started from there, Python imports it instead of the installed package",
            "start elsewhere, or take the folder out of PYTHONPATH",
        )


def triton_kernels(found: Fingerprint) -> Iterator[Skew]:
    if "triton-kernels" in found.packages and public(found.version("triton-kernels")).startswith("0."):
        yield Skew(
            "triton-kernels",
            f"the package triton-kernels {found.version('triton-kernels')} is installed",
            "on the index that name is an unrelated project",
            "uninstall it; triton_kernels comes with sglang-kernel or from Triton's repository",
        )
    held, triton = found.facts["triton_kernels"], public(found.version("triton"))
    wants = found.triton_kernels.partition("of Triton ")[2][:3]
    if held and triton and wants and not triton.startswith(f"{wants}."):
        newest = held["microblock"] and _numbers(triton) < (3, 8)
        yield Skew(
            "triton_kernels",
            f"triton_kernels {found.triton_kernels} with triton {triton}",
            "it cannot be imported with an older Triton"
            if newest
            else "upstream tests each copy only with its own Triton",
            "a sglang-kernel made for this torch",
            "skew" if newest else NOTE,
        )


def python(found: Fingerprint) -> Iterator[Skew]:
    version = found.version("flashinfer-python")
    if public(version) in ("0.6.16", "0.6.16.post1", "0.6.16.post2", "0.6.16.post3") and _numbers(
        found.facts["python"]
    ) < (3, 12):
        yield Skew(
            "Python",
            f"Python {found.facts['python']} with flashinfer {version}",
            "flashinfer.comm cannot be imported below Python 3.12",
            "Python 3.12, or 0.6.16.post4",
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
