"""What compilers, assemblers and linkers say while a kernel is built."""

from __future__ import annotations

import re

from .evidence import Evidence
from .signs import sign


def _feature(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """ptxas refuses a feature: the GPU lacks it. Plain mma is in every target since sm_75: mixed wheels."""
    name = found.group(1) or found.group(2)
    return "version_skew" if re.match(r"_mma\b|mma$", name) else "unsupported_arch"


def _missing_file(evidence: Evidence, found: re.Match[str], where: int) -> str:
    """A missing *input* that is the rest of a path after a space is the folder's name, not the source."""
    piece = " " + found.group(1)
    for line in evidence.lines[: where + 1]:
        before = line.partition(piece)[0] if piece in line else ""
        if before and re.match(r"(?:-[ILB]|-o|\"|'|=)?/", before.rsplit(" ", 1)[-1]):
            return "env_problem"
    return "jit_compile_failure"


COMPILERS = (
    sign(
        _feature,
        r"['\"]([^'\"]{1,160})['\"] (?:not supported on|requires) \.target",
        r"Instruction ['\"]([^'\"]{1,80})['\"] cannot be compiled for",
    ),
    sign(
        "version_skew",
        r"Value ['\"]?(?:sm|compute)_\w+['\"]? is not defined for option",
        r"Unsupported gpu architecture ['\"]?compute",
        r"(?:KeyError|ValueError|AttributeError)\b(?!.{0,200}only supported)"
        r".{0,60}['\"]?\b(?:sm|compute)_\d{2,3}[af]?\b",
        r"unsupported \.version",
        r"PTX \.version .{0,30}does not support",
        "is not a recognized processor for this target",
        note="the toolchain is older than the GPU",
    ),
    sign(
        "version_skew",
        "#error.{0,160}(?:incompatib|mismatch|version|unsupported|requires|too old)",
        "unsupported GNU version",
        "detected CUDA version .{0,40}mismatches the version that was used to compile",
        r"requires? (?:at least )?(?:CUDA|nvcc)(?: toolkit)?(?: version)? ?(?:>=|\d)",
        "CUDA (?:toolkit )?version .{0,30}too old",
        note="the toolkit's version",
    ),
    sign(
        "env_problem",
        r"\[code=127\]",
        "nvcc: (?:command )?not found",
        "could not find nvcc",
        r"No such file or directory: ['\"][^'\"]{0,200}(?:nvcc|ninja|gcc|c\+\+|g\+\+)['\"]",
        "ninja: (?:command )?not found",
        "Ninja is required to load",
        "CUDA_HOME environment variable is not set",
        "Failed to find C compiler",
        note="a build tool is missing",
    ),
    sign(
        _missing_file,
        r"(?:gcc|g\+\+|c\+\+|cc|nvcc|clang\S*|ld|cc1plus): (?:fatal )?error ?: (\S{1,300}): No such file",
    ),
    sign(
        "jit_compile_failure",
        r"fatal error\s?: \S{1,300}: No such file",
        "cannot open source file",
        "/ld: cannot find",
        r"\bld: cannot find",
        "collect2: error",
        "undefined reference to",
        r"ld returned \d+ exit",
        r"\w\.(?:cu|cuh|cpp|cc|h|hpp|inc|ptx)[(:]\d+[\d):,]* ?(?:catastrophic |fatal )?error\b[^:]{0,20}:",
        "error: static assertion failed",
        r"#error\b",
        r"(?-i:ptxas[\w-]*) (?-i:fatal|error)\s{0,3}:(?! Ptx assembly aborted)",
        r"nvcc fatal\s{0,3}:",
        "NVRTC_ERROR",
        "nvrtc: error",
        r"CompilationError\b",
        "ptx jit compilation failed",
        "CUDA_ERROR_INVALID_PTX",
        r"(?:MLIR|LLVM|NVVM)\S{0,20} (?:compil|verif)\w{1,9} (?:failed|error)",
        "failed to legalize operation",
        "DSLRuntimeError",
    ),
)

BUILD_ENDED = (
    sign(
        "jit_compile_failure",
        "PTXASError",
        "Ptx assembly aborted",
        "ninja: build stopped",
        "Ninja build failed",
        r"FAILED: \S+\.(?:o|so)\b",
        r"FAILED: \[code=\d+\]",
        "Error building extension",
        r"subprocess\.CalledProcessError.{0,200}(?:nvcc|ninja|gcc)",
        r"command ['\"]?\S*(?:gcc|nvcc|ninja|c\+\+)\S* failed",
    ),
)
"""The builder's last words, which name no cause."""
