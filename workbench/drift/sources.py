"""Whether the kernel sources behind a kernel are byte for byte the same in two releases.

FlashInfer ships its CUDA sources: from a kernel's own files, `#include "..."` is followed through what the project
wrote itself. Vendored libraries (CUTLASS) count by their version. Elsewhere, a file with Triton kernels counts itself.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from .change import Change
from .tree import Tree

CSRC = r"flashinfer/data/csrc/"
KERNELS = {
    "fp4_quantize": CSRC
    + r"nv_internal/(tensorrt_llm/thop/fp4(Quantize|Op)\.cpp|cpp/kernels/quantization\.cu)",
    "cutlass_fused_moe": CSRC
    + r"(fused_moe/cutlass_backend/|nv_internal/tensorrt_llm/kernels/cutlass_kernels/)\S+\.(cu|cpp)",
    "xqa": CSRC + r"(xqa/\S+\.(cu|cpp)|flashinfer_xqa_binding\.cu)",
    "fa2 and fa3 attention": CSRC
    + r"batch_(decode|prefill)(_sm90|_jit_binding|_sm90_jit_binding|\w*_inst|\w*_config)?\.(cu|jinja)",
    "trtllm-gen attention": CSRC + r"trtllm_fmha_kernel_launcher\.cu",
    "trtllm-gen moe": CSRC + r"(trtllm_(fused_moe|batched_gemm)\w*\.cu|fused_moe/trtllm_backend/\S+\.cu)",
    "trtllm_fmha_v2_prefill": CSRC
    + r"(fmha_v2_(run|jit_binding)\.cu|trtllm_fmha_v2_binding\.cu|fmha_v2/\S+)",
    "allreduce_fusion": CSRC
    + r"trtllm_(allreduce|allreduce_fusion|mnnvl_allreduce|moe_allreduce_fusion)\.cu",
}
WRITTEN = "flashinfer/data/"
VENDORED = ("flashinfer/data/cutlass/", "flashinfer/data/cccl/", "flashinfer/data/spdlog/")
BINDING = "tvm_ffi_utils.h"  # how Python reaches the kernels; nothing in it runs on the device
CUTLASS = "flashinfer/data/cutlass/include/cutlass/version.h"
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def compare(old: Tree, new: Tree) -> list[Change]:
    """A row for each kernel that both have."""
    before, after = Sources(old).kernels(), Sources(new).kernels()
    rows = [_row(kernel, before[kernel], after[kernel]) for kernel in before if kernel in after]
    versions = [cutlass(tree) for tree in (old, new)]
    if all(versions) and versions[0] != versions[1]:
        rows.append(
            Change(
                "vendored CUTLASS",
                "kernel_source_changed",
                "",
                None,
                None,
                f"{versions[0]} became {versions[1]}",
            )
        )
    return rows


def _row(kernel: str, before: dict[str, str], after: dict[str, str]) -> Change:
    differ = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    if not differ:
        return Change(
            kernel, "kernel_source_identical", "", None, None, f"{len(before)} files, byte for byte"
        )
    names = [PurePosixPath(name).name for name in differ]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return Change(
        kernel,
        "kernel_source_changed",
        "",
        None,
        None,
        f"{len(names)} of {len({*before, *after})} files: {', '.join(names[:4])}{more}",
    )


def cutlass(tree: Tree) -> str:
    if CUTLASS not in tree.files:
        return ""
    found = dict(re.findall(r"#define CUTLASS_(MAJOR|MINOR|PATCH)\s+(\d+)", tree.read(CUTLASS)))
    return ".".join(found.get(part, "?") for part in ("MAJOR", "MINOR", "PATCH"))


class Sources:
    """The files behind each kernel of one release."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.own = [name for name in tree.files if name.startswith(WRITTEN) and not name.startswith(VENDORED)]
        self.by_end: dict[str, list[str]] = {}
        for name in self.own:
            self.by_end.setdefault(PurePosixPath(name).name, []).append(name)
        self._includes: dict[str, list[str]] = {}

    def kernels(self) -> dict[str, dict[str, str]]:
        """Kernel -> file -> hash."""
        if not self.own:
            return self._triton()
        found = {}
        for kernel, pattern in KERNELS.items():
            roots = [name for name in self.own if re.fullmatch(pattern, name)]
            if roots:
                found[kernel] = {name: self.tree.digest(name) for name in sorted(self._behind(roots))}
        return found

    def _triton(self) -> dict[str, dict[str, str]]:
        found = {}
        for file in self.tree.python_files():
            text = self.tree.read(file)
            if "@triton.jit" in text or "@gluon.jit" in text:
                digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
                found[file.removesuffix(".py").replace("/", ".")] = {file: digest}
        return found

    def _behind(self, roots: list[str]) -> set[str]:
        seen: set[str] = set()
        left = list(roots)
        while left:
            name = left.pop()
            if name not in seen:
                seen.add(name)
                left += self._included(name)
        return seen

    def _included(self, name: str) -> list[str]:
        if name not in self._includes:
            written = INCLUDE.findall(self.tree.read(name))
            files = [self._file(each, name) for each in written if not each.endswith(BINDING)]
            self._includes[name] = [file for file in files if file]
        return self._includes[name]

    def _file(self, written: str, includer: str) -> str:
        """Beside the one that includes it, else the one whose path ends like it."""
        beside = str(PurePosixPath(includer).parent / written)
        parts: list[str] = []
        for part in PurePosixPath(beside).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        if "/".join(parts) in self.tree.files:
            return "/".join(parts)
        end = "/" + written.lstrip("./")
        found = [name for name in self.by_end.get(PurePosixPath(written).name, []) if name.endswith(end)]
        return min(found, key=len) if found else ""
