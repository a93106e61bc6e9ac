"""Fills the memory that a call will write with 0xFF, so that what it did not write is seen.

0xFF is NaN as float32, float16, bfloat16 and as an e4m3 scale; as two fp4 codes it is -6, -6.
"""

import sys

BYTE = 0xFF
BLOCKS = 3  # a call may take more than one block of a size


def before(call, sizes):
    """Poison the buffers that the call writes in place, or else the memory which the allocator gives it next."""
    outputs = getattr(call, "outputs", None)
    if outputs is not None:
        for tensor in outputs:
            fill(tensor)
    elif sizes and sys.modules["torch"].cuda.is_initialized():
        _free_memory(sizes)


def _free_memory(sizes):
    import torch

    held = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in sizes for _ in range(BLOCKS)]
    for block in held:
        block.fill_(BYTE)
    torch.cuda.synchronize()


def fill(tensor):
    _bytes(tensor).fill_(BYTE)


def untouched(tensors):
    """Share of the bytes that still hold the poison; 1.0 means that nothing was written."""
    total = sum(_bytes(tensor).numel() for tensor in tensors)
    if not total:
        return 0.0
    kept = sum(int((_bytes(tensor) == BYTE).sum()) for tensor in tensors)
    return round(kept / total, 6)


def _bytes(tensor):
    import torch

    if not tensor.is_contiguous():
        storage = tensor.untyped_storage()
        return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
    return tensor.detach().reshape(-1).view(torch.uint8)
