"""The anchor: the same torch call in every environment, timed at each visit, to show drift of the machine itself."""

from typing import Any

from . import stopwatch

SIZE = 4096
_READY: list[Any] = []


def measure():
    """Microseconds of a bfloat16 matrix product of 4096; about 0.17 ms on an H200."""
    import torch

    if not _READY:
        source = torch.Generator(device="cuda").manual_seed(0)
        a, b = (torch.randn(SIZE, SIZE, generator=source, device="cuda").bfloat16() for _ in range(2))
        out = torch.empty_like(a)
        _READY.append(lambda: torch.mm(a, b, out=out))
    return stopwatch.events_us(_READY[0])


def ceilings():
    """What this card really does at most, once a process: copy in TB/s (read and written), bf16 in TFLOP/s."""
    import torch

    source = torch.empty(2**30, dtype=torch.int8, device="cuda")
    target = torch.empty_like(source)
    copy_us = stopwatch.events_us(lambda: target.copy_(source))
    a = torch.randn(8192, 8192, device="cuda").bfloat16()
    out = torch.empty_like(a)
    matmul_us = stopwatch.events_us(lambda: torch.mm(a, a, out=out))
    return {
        "copy_tb_s": round(2**31 / copy_us / 1e6, 3),
        "bf16_tflop_s": round(2 * 8192**3 / matmul_us / 1e6, 1),
    }
