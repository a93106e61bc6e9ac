"""Small Triton kernels for `compiling.py`; imported in a worker alone."""

import triton  # noqa: TID253 - its decorator needs it, and only a worker comes here
import triton.language as tl  # noqa: TID253


@triton.jit
def copies(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < count), mask=at < count)


@triton.jit
def writes_nothing(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(source + at, mask=at < count)


@triton.jit
def multiplies(source, target, count, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 128)[:, None], tl.arange(0, 64)[None, :]
    sums = tl.zeros((128, 128), dtype=tl.float32)
    for step in range(0, count, 64):
        left = tl.load(source + rows * count + step + columns)
        right = tl.load(target + rows * count + step + columns)
        sums = tl.dot(left, right.trans(), sums)
    tl.store(target + rows * 128 + tl.arange(0, 128)[None, :], sums.to(tl.float16))
