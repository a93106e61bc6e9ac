"""The calls that are timed: kernels that spin for a known length, and real ones as they are measured elsewhere."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Call = Callable[[], object]
LENGTHS_US = (3, 10, 30, 100, 300, 1000, 5000)
KERNELS = (
    ("mxfp4_swiglu", {"tokens": 16}),
    ("mxfp4_swiglu", {"tokens": 1024}),
    ("trtllm_attention", {"batch": 64}),
)


class Spins:
    """`took_us()` is what the last one read on the GPU's own clock. Compiled once, beside `place`."""

    def __init__(self, place: Path):
        import torch

        self.library = ctypes.CDLL(str(compiled(place.parent)))
        self.took = torch.zeros(1, dtype=torch.int64, device="cuda")

    def calls(self) -> dict[str, Call]:
        return {f"spin {us} us": lambda us=us: self.spin(us * 1000) for us in LENGTHS_US}

    def spin(self, ns: int) -> None:
        self.library.run_spin(ctypes.c_ulonglong(ns), ctypes.c_void_p(self.took.data_ptr()), _stream())

    def mark(self) -> None:
        self.library.run_mark(_stream())

    def took_us(self) -> float:
        return self.took.item() / 1e3


def compiled(folder: Path) -> Path:
    library = folder / "spin.so"
    if not library.exists():
        words = ["nvcc", "-O2", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]
        made = library.with_suffix(f".{os.getpid()}")
        subprocess.run([*words, Path(__file__).with_name("spin.cu"), "-o", made], check=True)
        made.replace(library)
    return library


def real() -> dict[str, Call]:
    """One that cannot be made here is said on stderr, and left out."""
    return {**dict(_of_torch()), **dict(_of_kernels())}


def _of_torch() -> Iterator[tuple[str, Call]]:
    import torch

    a = torch.randn(4096, 4096, device="cuda").bfloat16()
    big, small = torch.empty(2**28, device="cuda", dtype=torch.int8), torch.randn(2**21, device="cuda")
    other, out, total = torch.empty_like(big), torch.empty_like(a), torch.empty_like(small)
    yield "matmul 4096 bf16", lambda: torch.mm(a, a, out=out)
    yield "copy 256 MiB", lambda: other.copy_(big)
    yield "add 8 MiB", lambda: torch.add(small, small, out=total)


def _of_kernels() -> Iterator[tuple[str, Call]]:
    import importlib

    from workbench.worker import find

    for name, wanted in KERNELS:
        kernel = importlib.import_module(f"workbench.kernels.{name}")
        case = next(case for case in kernel.CASES if wanted.items() <= case.items())
        try:
            function = find.api(kernel, lambda stage: None, lambda **facts: None)
            call = kernel.prepare(function, kernel.inputs(**case))
            call()
        except Exception as problem:
            print(f"{name} {wanted} is left out: {problem}", file=sys.stderr, flush=True)
            continue
        yield f"{name} {' '.join(f'{key}={value}' for key, value in wanted.items())}", call


def _stream() -> ctypes.c_void_p:
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
